f() {
    if (a) {
        if (b) {
            c();
        }
    }
}
