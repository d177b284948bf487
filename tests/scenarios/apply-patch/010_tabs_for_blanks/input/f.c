int f() {
	if (a) {
		b();
	}
}
