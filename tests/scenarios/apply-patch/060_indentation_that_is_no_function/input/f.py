if a:
    b
  c
