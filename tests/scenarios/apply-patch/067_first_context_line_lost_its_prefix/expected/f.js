a(() => {
    one();
  two();
    three();
});
