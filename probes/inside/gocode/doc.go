// Package gocode finds the places at which the functions of a Go program are entered and return. It finds them by the
// table of package pclntab, which has the size of the function's frame at each instruction. It also decodes
// instructions.
package gocode
