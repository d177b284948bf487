def a():
    x = 1
    return x

def b():
    x = 1
    return x

tail = 0
