function f() {
  one();
  two();
}
