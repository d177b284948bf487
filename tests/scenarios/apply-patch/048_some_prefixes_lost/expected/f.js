function f() {
  one();
  three();
}
