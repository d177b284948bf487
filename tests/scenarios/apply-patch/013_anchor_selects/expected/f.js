function a() {
  go(1);
}
function b() {
  go(2);
}
