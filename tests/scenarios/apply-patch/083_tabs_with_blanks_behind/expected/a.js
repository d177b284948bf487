class A {
	/**
	 * One.
	 * Two.
	 */
	one() {
		two();
	}
}
