// Package abi has functions whose arguments the compiler passes in all the ways that there are.
// A test compiles them and reads where the compiler put the arguments.
package abi

import "time"

// T is a type with methods.
type T struct{ n int }

// Pair has parts of different kinds, and Big has too many parts. Row is an array that goes into
// no register, One an array that does.
type (
	Pair struct {
		S string
		B bool
		P *int
		F float64
		T time.Time
	}
	Big struct {
		A, B, C, D, E string
		P             *int
		U             [2]bool
		N             int8
	}
	Row  struct{ A [2]int }
	One  struct{ A [1]string }
	None struct{}
)

func (t *T) Words(a int8, b string, c []byte, d any, e error) (int, error) { return t.n, nil }

func (t T) Value(m map[string]int, f func(), c chan int) (string, bool) { return "", false }

func Floats(a float32, b int, c float64, d complex128, e uint16) (float64, int32) { return 0, 0 }

func Structs(p Pair, a int) (Pair, int) { return p, a }

func Spills(a string, b Big, c int16, d string) (Big, bool) { return b, true }

func Arrays(a Row, b One, c [0]int, d None, e [1]uint8, f int) (Row, One) { return a, b }

func Many(a, b, c, d, e, f, g, h, i, j, k int, l bool, m int32) (a1, b1, c1, d1, e1, f1, g1, h1, i1, j1 int) {
	return
}

func Variadic(a string, b ...int) (_ time.Duration, _ *T, err error) { return }
