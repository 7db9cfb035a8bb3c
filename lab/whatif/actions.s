// A function without a body, such as computePodActions, compiles only in a package that has a file of assembly.
