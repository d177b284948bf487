a(() => {
    one();
    two();
});
