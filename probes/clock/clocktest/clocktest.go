// Package clocktest sets the wall clock, as far as times of a test go, and finds times that depend on it.
package clocktest

import (
	"reflect"
	"time"
	"unsafe"
)

// Set returns what time.Now would return in the same moment if the wall clock had been set forward by a duration.
// Times have no method for that: their two readings move together.
func Set(now time.Time, by time.Duration) time.Time {
	set := now.Add(by)
	const monotonic = 1 // of a time's words
	words := (*[2]int64)(unsafe.Pointer(&set))
	words[monotonic] -= int64(by)
	return set
}

// WallTimes returns the places in a value's type that have a time.Time, which loses its monotonic reading when it is
// sent.
func WallTimes(of any) (out []string) {
	seen := map[reflect.Type]bool{}
	var look func(at string, t reflect.Type)
	look = func(at string, t reflect.Type) {
		if t == reflect.TypeFor[time.Time]() {
			out = append(out, at)
		}
		if seen[t] {
			return
		}
		seen[t] = true
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Array:
			look(at, t.Elem())
		case reflect.Map:
			look(at, t.Key())
			look(at, t.Elem())
		case reflect.Struct:
			for i := range t.NumField() {
				look(at+"."+t.Field(i).Name, t.Field(i).Type)
			}
		}
	}
	look(reflect.TypeOf(of).Name(), reflect.TypeOf(of))
	return out
}
