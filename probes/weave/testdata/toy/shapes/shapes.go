// Package shapes has a function of each shape that the weaver must manage.
package shapes

import (
	"errors"
	"fmt"
)

type T struct{ name string }

type G[P any] struct{ value P }

func Nothing() {}

func NoResultNames(a int, b string) (int, error) {
	if a < 0 {
		return 0, errors.New("negative")
	}
	return a + len(b), nil
}

func OneBareResult(a int) error { return fmt.Errorf("number %d", a) }

func NamedResults(a int) (sum int, err error) {
	sum = a
	defer func() { sum++ }()
	if a > 10 {
		return 0, errors.New("too big")
	}
	return
}

func BlankResults(a int) (_ int, _ string, ok bool) { return a, "x", true }

func SharedNames() (a, b int, err error) { return 1, 2, nil }

func OneLine(a int) int { return a }

func Variadic(format string, args ...any) string { return fmt.Sprintf(format, args...) }

func (t *T) Pointer(suffix string) string { return t.name + suffix }

func (T) Value() int { return 7 }

func (g *G[P]) Generic(p P) (old P) {
	old, g.value = g.value, p
	return old
}

func GenericFunc[P comparable](a, b P) bool { return a == b }

func OddLayout(
	a int,
	b int,
) (
	int,
	error,
) {
	return a *
		b, nil
}

func Assigned() int {
	first := func(n int) int { return n }
	send := func(n int) int { return n * 2 }
	return first(1) + send(2)
}

func Called() (int, error) {
	err := func() error {
		return errors.New("from within")
	}()
	return 1, err
}

func Declared() int {
	var work = func() int { return 3 }
	return work()
}

func Returned() func(int) int {
	return func(n int) int { return n + 1 }
}

func Panics(why string) (n int, err error) {
	if why != "" {
		panic(why)
	}
	return 1, nil
}

func Recovers() (n int) {
	defer func() {
		if recover() != nil {
			n = -1
		}
	}()
	panic("inside")
}

func InLoop(n int) (sum int) {
	for i := range n {
		defer func() { sum += i }()
	}
	return 0
}

func NilField(t *T) string { return "fine" }

func Spins(n int) (err error) {
	switch {
	case n == 0:
		err := errors.New("shadowed")
		return err
	}
	return nil
}

// Line tells on which line of the file a panic in it was raised: 120.
func Line() { panic("line") }

func Skipped(a int) (fmt.Stringer, error) { return nil, fmt.Errorf("not skipped %d", a) }

func BacksOff(key string, left *int64) (waits bool) { return *left > 0 }
