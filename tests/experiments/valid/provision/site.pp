notice($facts['depth'])
