package whatif

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// Change is a change of inputs, as a person writes it: PATH=VALUE, or PATH- to remove what is there.
type Change struct {
	Path string `json:"path"`
	// Value is JSON, or a text as it stands.
	Value  string `json:"value,omitempty"`
	Remove bool   `json:"remove,omitempty"`
}

// Bounds of what a person gives.
const (
	maxChange  = 64 << 10
	maxDepth   = 32
	maxChanges = 256
)

// ParseChanges reads changes.
func ParseChanges(texts []string) (out []Change, err error) {
	if len(texts) > maxChanges {
		return nil, fmt.Errorf("%d changes are too many; %d can be made", len(texts), maxChanges)
	}
	for _, text := range texts {
		c, err := ParseChange(text)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

// ParseChange reads a change: PATH=VALUE or PATH-.
func ParseChange(text string) (c Change, err error) {
	if len(text) > maxChange {
		return c, fmt.Errorf("a change is longer than %d bytes", maxChange)
	}
	path, value, is := strings.Cut(text, "=")
	switch rest, removes := strings.CutSuffix(text, "-"); {
	case is:
		c = Change{Path: path, Value: value}
	case removes:
		c = Change{Path: rest, Remove: true}
	default:
		return c, fmt.Errorf("%q changes nothing; write PATH=VALUE, or PATH- to remove a value", text)
	}
	if _, err := parsePath(c.Path); err != nil {
		return Change{}, err
	}
	return c, nil
}

// String returns the change as ParseChange reads it.
func (c Change) String() string {
	if c.Remove {
		return c.Path + "-"
	}
	return c.Path + "=" + c.Value
}

// Apply makes the change. A change that fails may have made members on its way, which are empty.
func (c Change) Apply(in *Inputs) error {
	path, err := parsePath(c.Path)
	if err != nil {
		return err
	}
	w := walk{change: c, path: path}
	if err := w.to(reflect.ValueOf(in).Elem(), 0); err != nil {
		return fmt.Errorf("change %q: %w", c.Path, err)
	}
	return nil
}

// at returns the value at the change's path in JSON; "": nothing is there.
func (c Change) at(in *Inputs) (string, error) {
	path, err := parsePath(c.Path)
	if err != nil {
		return "", err
	}
	v := reflect.ValueOf(in).Elem()
	for _, p := range path {
		if v = step(v, p); !v.IsValid() {
			return "", nil
		}
	}
	if v.Kind() == reflect.Pointer && v.IsNil() {
		return "", nil
	}
	text, err := json.Marshal(v.Interface())
	if err != nil {
		return "", fmt.Errorf("write value: %w", err)
	}
	return string(text), nil
}

// step returns the value to which a part of a path leads; the zero value: there is none.
func step(v reflect.Value, p part) reflect.Value {
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	switch {
	case !v.IsValid():
	case v.Kind() == reflect.Struct && !hasOwnForm(v):
		if i, _ := member(v.Type(), p.name); i != nil {
			return v.FieldByIndex(i)
		}
	case v.Kind() == reflect.Map:
		return v.MapIndex(reflect.ValueOf(p.name).Convert(v.Type().Key()))
	case v.Kind() == reflect.Slice && p.bracket:
		if i, err := place(v, p); err == nil && i < v.Len() {
			return v.Index(i)
		}
	}
	return reflect.Value{}
}

// walk goes along a path to the value that a change changes.
type walk struct {
	change Change
	path   []part
}

var errEmpty = errors.New("it has no value; give one, or write PATH- to remove what is there")

// to changes v, at which the first n parts of the path lead.
func (w *walk) to(v reflect.Value, n int) error {
	if n == len(w.path) {
		return w.end(v)
	}
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			if w.change.Remove {
				return w.missing(n)
			}
			v.Set(reflect.New(v.Type().Elem()))
		}
		return w.to(v.Elem(), n)
	}
	if hasOwnForm(v) {
		return fmt.Errorf("%s is one value, and has no members", pathText(w.path[:n]))
	}
	p := w.path[n]
	switch v.Kind() {
	case reflect.Struct:
		return w.intoMember(v, p, n)
	case reflect.Map:
		return w.intoMap(v, p, n)
	case reflect.Slice:
		return w.intoList(v, p, n)
	}
	return fmt.Errorf("%s is one value, and has no members", pathText(w.path[:n]))
}

func (w *walk) intoMember(v reflect.Value, p part, n int) error {
	if p.bracket {
		return fmt.Errorf("%s is no list; write a point before the name of a member", pathText(w.path[:n]))
	}
	i, names := member(v.Type(), p.name)
	if i == nil {
		return fmt.Errorf("%s has no member %q%s", pathText(w.path[:n]), p.name, didYouMean(p.name, names))
	}
	return w.to(v.FieldByIndex(i), n+1)
}

// intoMap changes a copy of a value in the map, and puts it there: values in maps cannot be changed where they are.
func (w *walk) intoMap(v reflect.Value, p part, n int) error {
	key := reflect.ValueOf(p.name).Convert(v.Type().Key())
	value := v.MapIndex(key)
	last := n+1 == len(w.path)
	if w.change.Remove && !value.IsValid() {
		return w.missing(n + 1)
	}
	if w.change.Remove && last {
		v.SetMapIndex(key, reflect.Value{})
		return nil
	}
	changed := reflect.New(v.Type().Elem()).Elem()
	if value.IsValid() {
		changed.Set(value)
	}
	if err := w.to(changed, n+1); err != nil {
		return err
	}
	if v.IsNil() {
		v.Set(reflect.MakeMap(v.Type()))
	}
	v.SetMapIndex(key, changed)
	return nil
}

// intoList changes an element. A whole element may also be put behind the last.
func (w *walk) intoList(v reflect.Value, p part, n int) error {
	if !p.bracket {
		return fmt.Errorf("%s is a list; write %s[0] for its first element, or the element's name in brackets", pathText(w.path[:n]), pathText(w.path[:n]))
	}
	i, err := place(v, p)
	if err != nil {
		return fmt.Errorf("%s %w", pathText(w.path[:n]), err)
	}
	last := n+1 == len(w.path)
	switch {
	case i == v.Len() && (!last || w.change.Remove):
		return fmt.Errorf("%s%s", pathText(w.path[:n]), elements(v))
	case i == v.Len():
		added := reflect.New(v.Type().Elem()).Elem()
		if err := w.to(added, n+1); err != nil {
			return err
		}
		if name := nameOf(added); name.IsValid() && name.String() == "" && p.index < 0 {
			name.SetString(p.name)
		}
		v.Set(reflect.Append(v, added))
		return nil
	case last && w.change.Remove:
		kept := reflect.MakeSlice(v.Type(), 0, v.Len()-1)
		v.Set(reflect.AppendSlice(reflect.AppendSlice(kept, v.Slice(0, i)), v.Slice(i+1, v.Len())))
		return nil
	}
	return w.to(v.Index(i), n+1)
}

func (w *walk) missing(n int) error { return fmt.Errorf("%s is not there", pathText(w.path[:n])) }

// end changes the value at the end of the path.
func (w *walk) end(v reflect.Value) error {
	if w.change.Remove {
		v.SetZero()
		return nil
	}
	changed := reflect.New(v.Type()).Elem()
	if err := parseValue(w.change.Value, changed); err != nil {
		return err
	}
	v.Set(changed)
	return nil
}

// parseValue reads a value into v: JSON, or a text as it stands.
func parseValue(text string, v reflect.Value) error {
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		return parseValue(text, v.Elem())
	}
	switch {
	case hasOwnForm(v):
		if text == "" {
			return errEmpty
		}
		if !json.Valid([]byte(text)) {
			quoted, err := json.Marshal(text)
			if err != nil {
				return fmt.Errorf("read value: %w", err)
			}
			text = string(quoted)
		}
	case v.Kind() == reflect.String:
		var s string
		if !strings.HasPrefix(text, `"`) || json.Unmarshal([]byte(text), &s) != nil {
			s = text
		}
		v.SetString(strings.ToValidUTF8(s, "\uFFFD"))
		return nil
	case text == "" && (v.Kind() == reflect.Struct || v.Kind() == reflect.Slice || v.Kind() == reflect.Map):
		return nil
	case text == "":
		return errEmpty
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v.Addr().Interface()); err != nil {
		return fmt.Errorf("%q is no value for it: %w", text, err)
	}
	if d.More() {
		return fmt.Errorf("%q is more than one value", text)
	}
	return nil
}
