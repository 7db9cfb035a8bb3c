package hook

import (
	"reflect"
	"unsafe"
)

// Values puts the values that a step shows into a Taker, one after the other.
// Woven code passes closures of this type. They run on the caller's goroutine,
// at most once, before the hook returns.
//
// Values cross one by one, and not as a slice, because that costs no memory:
// each is boxed on the stack of the closure, and the taker copies it at once.
type Values = func(to To)

// To is where Values puts its values: the first argument of Put and Quiet.
type To = unsafe.Pointer

// Taker takes values.
type Taker interface {
	// Quiet is called first, at the exit of a step that can be quiet, with whether the call is worth no event. It
	// returns whether the values that follow are not needed.
	Quiet(quiet bool) (enough bool)
	// Take is called with one value. The box of v is on the caller's stack: v must not be kept, see Keep. The
	// strings and pointers that are in the box may be.
	Take(v any)
	// BackOff is called last, at the entry of a function that looks whether a back-off of the kubelet is over. end ends
	// that back-off, and must not be kept.
	BackOff(end BackOff)
}

// BackOff ends a back-off of the kubelet. It reports whether there was one, and its length in nanoseconds; 0: nobody knows.
type BackOff = func() (ended bool, length int64)

// Eval lets values put into t. It catches a panic of values, such as a nil pointer on the way to a field: that
// costs this value and those after it, not the event.
func Eval(values Values, t Taker) {
	if values == nil {
		return
	}
	defer func() {
		if r := recover(); r != nil {
			faults.Add(1)
		}
	}()
	t = NoEscape(t)
	values(unsafe.Pointer(NoEscape(&t)))
}

// nowhere is nil. The compiler does not know that.
var nowhere unsafe.Pointer

// Put puts a value, as woven code does. Woven code has a function of its own
// that is written like this one, see the weaver's glue.
//
// What v points at leaks, as the compiler sees it, and so is not on a stack:
// the taker may call methods of v. The box of v does not leak.
func Put[T any](to To, v T) {
	if nowhere != nil {
		*(*T)(nowhere) = v
	}
	put(to, NoEscape[any](v))
}

// put is called by woven code.
func put(to To, v any) { (*(*Taker)(to)).Take(v) }

// Quiet is called by woven code before it puts other values. If it returns true
// there is no need for them.
func Quiet(to To, quiet bool) (enough bool) { return (*(*Taker)(to)).Quiet(quiet) }

// backOff is called by woven code.
func backOff(to To, end BackOff) { (*(*Taker)(to)).BackOff(end) }

// Keep returns v in a box that may be kept.
func Keep(v any) any {
	r := reflect.ValueOf(v)
	switch r.Kind() {
	case reflect.Invalid, reflect.Pointer, reflect.Map, reflect.Chan, reflect.Func, reflect.UnsafePointer:
		return v // what has no box
	}
	box := reflect.New(r.Type()).Elem()
	box.Set(r)
	return box.Interface()
}

// List returns Values that put the arguments: for calls that are not of woven code. A BackOff ends one.
func List(values ...any) Values {
	return func(to To) {
		for _, v := range values {
			if end, is := v.(BackOff); is {
				backOff(to, end)
			} else {
				put(to, v)
			}
		}
	}
}

// All returns what values puts: also whether the call is quiet, and the length of the back-off that it ends, if values
// has these.
func All(values Values) []any {
	var all list
	Eval(values, &all)
	return all
}

type list []any

func (l *list) Quiet(quiet bool) bool {
	*l = append(*l, quiet)
	return false
}

func (l *list) Take(v any) { *l = append(*l, Keep(v)) }

func (l *list) BackOff(end BackOff) {
	_, length := end()
	*l = append(*l, length)
}
