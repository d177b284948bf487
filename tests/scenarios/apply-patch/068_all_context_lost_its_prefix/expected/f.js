a(() => {
    one();
    if (x) {
      three();
    }
    two();
});
