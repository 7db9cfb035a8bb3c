package filter

import (
	"slices"
	"testing"
)

func TestTerms(t *testing.T) {
	for text, want := range map[string][]Term{
		"":                          {},
		"err":                       {{Key: "err"}},
		"ns=shop slow>2s kind=exit": {{"ns", "=", "shop"}, {"slow", ">", "2s"}, {"kind", "=", "exit"}},
		"field.image~busybox err":   {{"field.image", "~", "busybox"}, {Key: "err"}},
		"field.image":               {{Key: "field.image"}},
		"web":                       nil,
		"-err":                      nil,
		"err or ns=shop":            nil,
		"ns=shop (err or slow>2s)":  nil,
	} {
		f, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := f.Terms()
		if ok != (want != nil) || !slices.Equal(got, want) {
			t.Errorf("%q: terms %v, %v, want %v", text, got, ok, want)
		}
	}
}
