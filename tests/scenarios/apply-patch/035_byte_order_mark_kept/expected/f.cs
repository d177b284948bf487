using C;
class B {}
