package whatif

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// Like returns the changes that make the inputs of one pod those of another. Which pod it is stays: names, ids, addresses,
// and the images, of which a plan depends only on whether they changed. base are mine without older containers, which no plan
// depends on unless all containers are restarted: it is base that the changes change.
func Like(mine, others *Inputs) (base *Inputs, changes []Change, err error) {
	if base, err = mine.Clone(); err != nil {
		return nil, nil, err
	}
	other, err := others.Clone()
	if err != nil {
		return nil, nil, err
	}
	if !base.RestartAllContainers && !other.RestartAllContainers {
		base.Status.Containers = newest(base.Status.Containers, nil)
		other.Status.Containers = newest(other.Status.Containers, base.Status.Containers)
	}
	takeIDs(&other.Status, &base.Status)
	takeImages(other.Spec.InitContainers, base.Spec.InitContainers)
	takeImages(other.Spec.Containers, base.Spec.Containers)
	var d differ
	d.diff("", reflect.ValueOf(base).Elem(), reflect.ValueOf(other).Elem())
	return base, d.changes, d.err
}

// newest returns the newest container of each name: first those that a list has, in its order, then the others.
func newest(of, order []Container) (out []Container) {
	add := func(c Container) {
		if !slices.ContainsFunc(out, func(o Container) bool { return o.Name == c.Name }) {
			out = append(out, c)
		}
	}
	for _, o := range order {
		if i := slices.IndexFunc(of, func(c Container) bool { return c.Name == o.Name }); i >= 0 {
			add(of[i])
		}
	}
	for _, c := range of {
		add(c)
	}
	return out
}

// takeIDs gives the sandboxes and the newest containers of a status the ids of another, and its addresses where both
// have one.
func takeIDs(to, from *Status) {
	for i := range min(len(from.Sandboxes), len(to.Sandboxes)) {
		t, f := &to.Sandboxes[i], &from.Sandboxes[i]
		t.ID = f.ID
		if t.IP != nil && f.IP != nil && *t.IP != "" && *f.IP != "" {
			t.IP = f.IP
		}
	}
	taken := map[string]bool{}
	for i := range to.Containers {
		c := &to.Containers[i]
		j := slices.IndexFunc(from.Containers, func(f Container) bool { return f.Name == c.Name })
		if j >= 0 && !taken[c.Name] {
			c.ID = from.Containers[j].ID
		}
		taken[c.Name] = true
	}
}

func takeImages(to, from []v1.Container) {
	for i := range to {
		for j := range from {
			if to[i].Name == from[j].Name {
				to[i].Image = from[j].Image
			}
		}
	}
}

// differ collects the changes that make one value another.
type differ struct {
	changes []Change
	err     error
}

// jsonOf returns a value in JSON.
func (d *differ) jsonOf(v reflect.Value) []byte {
	text, err := json.Marshal(v.Interface())
	if err != nil && d.err == nil {
		d.err = fmt.Errorf("write value: %w", err)
	}
	return text
}

func (d *differ) diff(path string, x, y reflect.Value) {
	text := d.jsonOf(y)
	if bytes.Equal(d.jsonOf(x), text) {
		return
	}
	switch {
	case x.Kind() == reflect.Pointer && !x.IsNil() && !y.IsNil():
		d.diff(path, x.Elem(), y.Elem())
	case x.Kind() == reflect.Pointer && y.IsNil():
		d.changes = append(d.changes, Change{Path: path, Remove: true})
	case x.Kind() == reflect.Pointer || hasOwnForm(x):
		d.changes = append(d.changes, Change{Path: path, Value: string(text)})
	case x.Kind() == reflect.Struct:
		d.members(path, x, y)
	case x.Kind() == reflect.Map:
		d.keys(path, x, y)
	case x.Kind() == reflect.Slice:
		d.elements(path, x, y)
	case x.Kind() == reflect.String:
		d.changes = append(d.changes, Change{Path: path, Value: y.String()})
	default:
		d.changes = append(d.changes, Change{Path: path, Value: string(text)})
	}
}

func (d *differ) members(path string, x, y reflect.Value) {
	t := x.Type()
	for i := range t.NumField() {
		tag, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		switch {
		case tag == "-":
		case tag == "":
			d.diff(path, x.Field(i), y.Field(i))
		case path == "":
			d.diff(tag, x.Field(i), y.Field(i))
		default:
			d.diff(path+"."+tag, x.Field(i), y.Field(i))
		}
	}
}

func (d *differ) keys(path string, x, y reflect.Value) {
	var keys []string
	for _, m := range []reflect.Value{x, y} {
		for _, k := range m.MapKeys() {
			keys = append(keys, k.String())
		}
	}
	slices.Sort(keys)
	for _, k := range slices.Compact(keys) {
		key := reflect.ValueOf(k).Convert(x.Type().Key())
		at := path + "." + k
		if strings.ContainsAny(k, ".[]") {
			at = path + "[" + k + "]"
		}
		switch vx, vy := x.MapIndex(key), y.MapIndex(key); {
		case !vy.IsValid():
			d.changes = append(d.changes, Change{Path: at, Remove: true})
		case !vx.IsValid():
			d.changes = append(d.changes, Change{Path: at, Value: string(d.jsonOf(vy))})
		default:
			d.diff(at, vx, vy)
		}
	}
}

// elements compares lists. Lists that one element after the other makes like each other are compared by the names of
// elements, or by their places if they have no names. Others are one value.
func (d *differ) elements(path string, x, y reflect.Value) {
	before, named := namesOf(x)
	after, alsoNamed := namesOf(y)
	switch {
	case named && alsoNamed && x.Len()+y.Len() > 0 && sameOrder(before, after):
		for i, name := range before {
			if j := slices.Index(after, name); j >= 0 {
				d.diff(path+"["+name+"]", x.Index(i), y.Index(j))
			} else {
				d.changes = append(d.changes, Change{Path: path + "[" + name + "]", Remove: true})
			}
		}
		for j, name := range after {
			if !slices.Contains(before, name) {
				d.changes = append(d.changes, Change{Path: path + "[" + name + "]", Value: string(d.jsonOf(y.Index(j)))})
			}
		}
	case !hasNames(x):
		d.places(path, x, y)
	default:
		d.changes = append(d.changes, Change{Path: path, Value: string(d.jsonOf(y))})
	}
}

// places compares lists by the places of elements. Those that are too many are removed from the end.
func (d *differ) places(path string, x, y reflect.Value) {
	for i := range max(x.Len(), y.Len()) {
		at := fmt.Sprintf("%s[%d]", path, i)
		switch {
		case i >= y.Len():
			d.changes = append(d.changes, Change{Path: fmt.Sprintf("%s[%d]", path, x.Len()-1-(i-y.Len())), Remove: true})
		case i >= x.Len():
			d.changes = append(d.changes, Change{Path: at, Value: string(d.jsonOf(y.Index(i)))})
		default:
			d.diff(at, x.Index(i), y.Index(i))
		}
	}
}

// hasNames reports whether the elements of a list have names.
func hasNames(list reflect.Value) bool {
	return nameOf(reflect.New(list.Type().Elem()).Elem()).IsValid()
}

// namesOf returns the names of a list's elements. named is false unless each has a name that no other has and that a path
// can have.
func namesOf(list reflect.Value) (names []string, named bool) {
	if !hasNames(list) {
		return nil, false
	}
	for i := range list.Len() {
		name := nameOf(list.Index(i)).String()
		if name == "" || strings.ContainsAny(name, "[]") || strings.Trim(name, "0123456789") == "" || slices.Contains(names, name) {
			return nil, false
		}
		names = append(names, name)
	}
	return names, true
}

// sameOrder reports whether the first names, without those that the second have not, and then the second ones that are
// new, are the second.
func sameOrder(first, second []string) bool {
	var out []string
	for _, name := range first {
		if slices.Contains(second, name) {
			out = append(out, name)
		}
	}
	for _, name := range second {
		if !slices.Contains(first, name) {
			out = append(out, name)
		}
	}
	return slices.Equal(out, second)
}
