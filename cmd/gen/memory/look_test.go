package memory

import "time"

// TestForms reads these types. They are as the kubelet has them. The test reads this file as source, too.
type (
	meta struct {
		skip int8
		Name string
		Made time.Time
		Gone *time.Time
		Secs *int64
	}
	inner struct {
		meta
		flags [3]bool
		Count uint16
		Deep  *inner
		On    bool
		list  []string
		index map[string]int
		call  func()
	}
	colour int
	outer  struct {
		pad   byte
		In    inner
		Ptr   *inner
		Any   any
		Paint colour
		Wait  time.Duration
		Half  float64
		Err   error
	}
	small struct {
		A string
		P *inner
	}
)

const (
	red colour = iota + 1
	blue
)

func (c colour) String() string {
	switch c {
	case red:
		return "red"
	case blue:
		return "blue"
	}
	return "?"
}

// look has the arguments that the expressions name.
//
//lint:ignore U1000,SA4009 the test reads its source and never calls it
func (o *outer) look(by small, n int16, f float64, changes *inner) (out *inner, _ bool) {
	changes = o.Ptr
	return changes, o.In.On && n > 0 && f > 0 && by.P != nil
}
