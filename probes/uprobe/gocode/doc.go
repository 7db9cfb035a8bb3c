// Package gocode knows the code of a Go program's functions on amd64: its instructions, and
// at which of them a function is entered and returns. Where those are follows from the
// table of package pclntab, which has how large the function's frame is at each.
package gocode
