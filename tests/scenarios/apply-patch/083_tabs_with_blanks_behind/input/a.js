class A {
	/**
	 * One.
	 */
	one() {}
}
