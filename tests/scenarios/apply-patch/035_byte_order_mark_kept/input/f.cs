using A;
class B {}
