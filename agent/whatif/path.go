package whatif

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// part is one part of a path: a member, or in brackets the place or the name of an element.
type part struct {
	name    string
	bracket bool
	// index is the place; -1: the part is a name.
	index int
}

// parsePath reads a path such as status.containers[0].exitCode or spec.containers[web].image.
func parsePath(text string) (path []part, err error) {
	rest := text
	for rest != "" {
		if len(path) == maxDepth {
			return nil, fmt.Errorf("the path %q has more than %d parts", text, maxDepth)
		}
		p := part{index: -1}
		switch {
		case rest[0] == '[' && len(path) > 0:
			end := strings.IndexByte(rest, ']')
			if end < 0 {
				return nil, fmt.Errorf("the path %q has a [ without ]", text)
			}
			p.name, p.bracket, rest = rest[1:end], true, rest[end+1:]
			if i, err := strconv.ParseUint(p.name, 10, 16); err == nil {
				p.index = int(i)
			}
		default:
			if len(path) > 0 {
				if rest[0] != '.' {
					return nil, fmt.Errorf("the path %q has no point before %q", text, rest)
				}
				rest = rest[1:]
			}
			end := strings.IndexAny(rest, ".[]")
			if end < 0 {
				end = len(rest)
			}
			p.name, rest = rest[:end], rest[end:]
		}
		if p.name == "" || strings.ContainsAny(p.name, "[]") {
			return nil, fmt.Errorf("the path %q has a part without a name; write it as status.containers[0].exitCode", text)
		}
		path = append(path, p)
	}
	if len(path) == 0 {
		return nil, fmt.Errorf("the path is empty; write it as status.containers[0].exitCode")
	}
	return path, nil
}

// pathText returns a path as parsePath reads it.
func pathText(path []part) string {
	if len(path) == 0 {
		return "the top"
	}
	var b strings.Builder
	for i, p := range path {
		switch {
		case p.bracket:
			b.WriteString("[" + p.name + "]")
		case i > 0:
			b.WriteString("." + p.name)
		default:
			b.WriteString(p.name)
		}
	}
	return b.String()
}

// hasOwnForm reports whether a value has its own form in JSON, such as a quantity and a time.
func hasOwnForm(v reflect.Value) bool {
	p := reflect.PointerTo(v.Type())
	return p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// member returns where a structure has the member of a name in JSON, or nil and the names of all members.
func member(t reflect.Type, name string) (index []int, names []string) {
	for i := range t.NumField() {
		f := t.Field(i)
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case tag == "" && f.Anonymous && f.Type.Kind() == reflect.Struct:
			inner, more := member(f.Type, name)
			if inner != nil {
				return append([]int{i}, inner...), nil
			}
			names = append(names, more...)
		case tag == name:
			return []int{i}, nil
		case tag != "" && tag != "-":
			names = append(names, tag)
		}
	}
	return nil, names
}

// mostNames is how many names of members a message lists.
const mostNames = 12

func didYouMean(name string, names []string) string {
	for _, n := range names {
		if strings.EqualFold(n, name) {
			return fmt.Sprintf("; did you mean %s?", n)
		}
	}
	if len(names) > mostNames {
		return ""
	}
	slices.Sort(names)
	return "; it has " + strings.Join(names, ", ")
}

// nameOf returns the member of an element by which it is named; the zero value: there is none.
func nameOf(element reflect.Value) reflect.Value {
	if element.Kind() != reflect.Struct {
		return reflect.Value{}
	}
	if i, _ := member(element.Type(), "name"); i != nil {
		if f := element.FieldByIndex(i); f.Kind() == reflect.String {
			return f
		}
	}
	return reflect.Value{}
}

// place returns the place of an element in a list. An element that is not there has the place behind the last.
func place(list reflect.Value, p part) (int, error) {
	if p.index >= 0 {
		if p.index > list.Len() {
			return 0, fmt.Errorf("has %d elements, and none at [%d]", list.Len(), p.index)
		}
		return p.index, nil
	}
	for i := range list.Len() {
		if name := nameOf(list.Index(i)); name.IsValid() && name.String() == p.name {
			return i, nil
		}
	}
	if !hasNames(list) {
		return 0, fmt.Errorf("has elements without names; write a number in the brackets instead of %q", p.name)
	}
	return list.Len(), nil
}

// elements returns which elements a list has, for a message about one that it has not.
func elements(list reflect.Value) string {
	if list.Len() == 0 {
		return " is empty"
	}
	var names []string
	for i := range list.Len() {
		if name := nameOf(list.Index(i)); name.IsValid() {
			names = append(names, name.String())
		}
	}
	if names == nil {
		return fmt.Sprintf(" has %d elements", list.Len())
	}
	return " has no such element; it has " + strings.Join(names, ", ")
}
