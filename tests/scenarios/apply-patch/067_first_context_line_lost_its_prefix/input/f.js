a(() => {
    one();
  two();
});
