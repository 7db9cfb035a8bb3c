package probes

import "testing"

// TestFunctionSum: comments and layout do not count, all code does.
func TestFunctionSum(t *testing.T) {
	const code = "func f(a int) error {\n\tif a > 0 {\n\t\treturn nil\n\t}\n\treturn errA\n}"
	same := FunctionSum([]byte(code))
	for _, s := range []string{
		"func f(a int) error { if a > 0 { return nil\n}; return errA\n}",
		"func f(a int) error { // why\n/* so */ if a > 0 {\n\n return nil\n}\nreturn errA\n}",
	} {
		if FunctionSum([]byte(s)) != same {
			t.Errorf("%q counts as other code", s)
		}
	}
	for _, s := range []string{
		"func f(a int) error { if a > 1 { return nil\n}; return errA\n}",
		"func f(a int) error { if a > 0 { return nil\n}; return errB\n}",
		"func f(a int) error { mu.Lock(); if a > 0 { return nil\n}; return errA\n}",
		`func f(a string) error { return "a b" }`, `func f(a string) error { return "a" "b" }`, "",
	} {
		if FunctionSum([]byte(s)) == same {
			t.Errorf("%q counts as the same code", s)
		}
	}
}

// TestSums: every function of the catalogue has the sum of its code.
func TestSums(t *testing.T) {
	for _, s := range MustLoad().Steps {
		if (len(s.Sum) == 16) == s.Outside() {
			t.Errorf("step %s has the sum %q", s.Name, s.Sum)
		}
	}
}
