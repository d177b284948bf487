int f() {
	if (a) {
		c();
			d();
	}
}
