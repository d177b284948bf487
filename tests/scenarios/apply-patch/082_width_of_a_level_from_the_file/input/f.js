f() {
    if (a) {
        if (b) {
        }
    }
}
