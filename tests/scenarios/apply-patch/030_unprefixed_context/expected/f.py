def f():
    a = 1
    c = 3
    b = 2
