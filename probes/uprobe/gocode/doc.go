// Package gocode decodes the functions of a Go program on amd64: their instructions, and the places at which they are
// entered and return. It finds these places by the table of package pclntab, which has the size of the function's
// frame at each instruction.
package gocode
