//go:build linux && amd64

package delve

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-delve/delve/service/api"

	"github.com/podstep/podstep/agent/redact"
)

// how is how a value is shown, by where it comes from.
type how struct {
	// sealed: nothing of it is shown.
	sealed bool
	// texts is how texts in it are shown; names of the zero value are those of no list, and such texts are not shown.
	texts redact.Showing
	// name is what stands beside a text as its name.
	name string
	// member: it is a member of a structure, and no letter of a text.
	member bool
}

// shower writes a value in one line, without secrets. It shows numbers, times, names of types, and texts that package
// redact lists by the type that has them.
type shower struct {
	strings.Builder
	hid bool // something was left out
}

// show returns a value in one line, and whether it is whole.
func show(v *api.Variable, h how) (line string, whole bool) {
	w := &shower{}
	w.value(v, h, true)
	return w.String(), !w.hid
}

func (w *shower) hide() {
	w.hid = true
	w.WriteString(redact.Redacted)
}

// value writes a value. typed: with its type, where Delve writes that too.
func (w *shower) value(v *api.Variable, h how, typed bool) {
	switch {
	case v.Unreadable != "":
		w.hid = true
		fmt.Fprintf(w, "(unreadable %s)", redact.Text(v.Unreadable))
	case h.sealed || isSealed(v) || v.Flags&api.VariableCPURegister != 0:
		w.hide()
	default:
		w.kind(v, h, typed)
	}
}

func (w *shower) kind(v *api.Variable, h how, typed bool) {
	switch v.Kind {
	case reflect.Pointer:
		w.pointer(v, h)
	case reflect.Interface:
		w.iface(v, h)
	case reflect.Struct:
		w.structure(v, typed)
	case reflect.Slice, reflect.Array:
		w.list(v, h, typed)
	case reflect.Map:
		w.mapping(v, h, typed)
	case reflect.String:
		w.text(v, h)
	case reflect.Chan:
		w.channel(v)
	case reflect.Func:
		w.plain(v.Value, "nil")
	case reflect.UnsafePointer:
		w.WriteString("unsafe.Pointer")
	case reflect.Complex64, reflect.Complex128:
		w.hide() // nothing in the kubelet is one
	case reflect.Uint8, reflect.Int8:
		if !h.member {
			w.hide() // a letter of a text
			return
		}
		w.plain(v.Value, "nil")
	default:
		w.plain(v.Value, "("+v.Kind.String()+" that is not known)")
	}
}

// plain writes what Delve made of a number or of the name of a function.
func (w *shower) plain(value, none string) {
	if value == "" {
		value = none
	}
	w.WriteString(value)
}

func (w *shower) pointer(v *api.Variable, h how) {
	switch {
	case len(v.Children) == 0 || v.Children[0].Addr == 0:
		w.WriteString("nil")
	case v.Children[0].OnlyAddr:
		w.hid = true
		fmt.Fprintf(w, "(%s)(%#x)", v.Type, v.Children[0].Addr)
	default:
		w.WriteString("*")
		w.value(&v.Children[0], h, true)
	}
}

func (w *shower) iface(v *api.Variable, h how) {
	if len(v.Children) == 0 || v.Children[0].Kind == reflect.Invalid {
		fmt.Fprintf(w, "%s nil", v.Type)
		return
	}
	within := &v.Children[0]
	fmt.Fprintf(w, "%s(%s) ", v.Type, within.Type)
	h.member = false
	w.value(within, h, false)
}

func (w *shower) structure(v *api.Variable, typed bool) {
	switch {
	case v.Type == "time.Time" && v.Value != "":
		fmt.Fprintf(w, "time.Time(%s)", v.Value)
		return
	case len(v.Children) == 0 && v.Len > 0:
		w.hid = true
		fmt.Fprintf(w, "(*%s)(%#x)", v.Type, v.Addr)
		return
	}
	if typed {
		w.WriteString(v.Type + " ")
	}
	w.WriteString("{")
	for i := range v.Children {
		c := &v.Children[i]
		if i > 0 {
			w.WriteString(", ")
		}
		w.WriteString(c.Name + ": ")
		w.value(c, memberOf(v, c.Name), true)
	}
	w.more(int64(len(v.Children)), v.Len)
	w.WriteString("}")
}

// more writes how many elements Delve has not read.
func (w *shower) more(shown, all int64) {
	if shown < all {
		w.hid = true
		fmt.Fprintf(w, ",...+%d more", all-shown)
	}
}

func (w *shower) list(v *api.Variable, h how, typed bool) {
	elem := elemOf(v.RealType)
	if typed {
		w.WriteString(v.Type + " ")
		if v.Kind == reflect.Slice {
			fmt.Fprintf(w, "len: %d, cap: %d, ", v.Len, v.Cap)
		}
	}
	switch {
	case v.Kind == reflect.Slice && v.Base == 0 && len(v.Children) == 0:
		w.WriteString("nil")
		return
	case v.Len == 0:
		w.WriteString("[]")
		return
	case isLetters(elem) || elem == "string" && !isShown(h.texts):
		w.hide()
		return
	}
	h.member = false
	w.WriteString("[")
	for i := range v.Children {
		if i > 0 {
			w.WriteString(",")
		}
		w.value(&v.Children[i], h, false)
	}
	w.more(int64(len(v.Children)), v.Len)
	w.WriteString("]")
}

func (w *shower) mapping(v *api.Variable, h how, typed bool) {
	if typed {
		w.WriteString(v.Type + " ")
	}
	switch {
	case v.Base == 0 && len(v.Children) == 0:
		w.WriteString("nil")
		return
	case v.Len > 0 && len(v.Children) > 1 && v.Children[0].Type == "string" && isText(v.Children[1].Kind) && !isShown(h.texts):
		fmt.Fprintf(w, "len: %d, ", v.Len)
		w.hide()
		return
	}
	h.member = false
	w.WriteString("[")
	for i := 0; i+1 < len(v.Children); i += 2 {
		if i > 0 {
			w.WriteString(", ")
		}
		of, keys := h, h
		of.name = v.Children[i].Value
		if isShown(h.texts) {
			keys.texts = redact.ShowText
		}
		w.value(&v.Children[i], keys, false)
		w.WriteString(": ")
		w.value(&v.Children[i+1], of, false)
	}
	w.more(int64(len(v.Children)/2), v.Len)
	w.WriteString("]")
}

func (w *shower) channel(v *api.Variable) {
	if len(v.Children) < 2 {
		w.WriteString(v.Type + " nil")
		return
	}
	fmt.Fprintf(w, "%s %s/%s", v.Type, v.Children[0].Value, v.Children[1].Value)
}

// text writes a text. What Delve has not read of it may be the other half of a secret.
func (w *shower) text(v *api.Variable, h how) {
	switch {
	case v.Len == 0:
		w.WriteString(`""`)
		return
	case v.Type != "string" && redact.PlainType(v.Type):
		h.texts = redact.ShowText
	case !isShown(h.texts):
		w.hide()
		return
	}
	value := v.Value
	missing := v.Len - int64(len(value))
	if missing > 0 {
		value = redact.Begin(value)
	}
	shown := h.texts.Named(h.name, value)
	w.hid = w.hid || shown != v.Value
	w.WriteString(strconv.Quote(shown))
	if missing > 0 {
		fmt.Fprintf(w, "...+%d more", missing)
	}
}

// isShown reports whether texts are shown in a variable: the words of commands are not.
func isShown(s redact.Showing) bool {
	return s != 0 && s != redact.ShowCommand && s != redact.ShowOptions
}

func isText(k reflect.Kind) bool {
	return k == reflect.String || k == reflect.Slice || k == reflect.Array
}

// isSealed reports whether nothing of a value's type is shown.
func isSealed(v *api.Variable) bool {
	return redact.Sealed(strings.TrimLeft(v.Type, "*[]")) || redact.Sealed(strings.TrimLeft(v.RealType, "*[]"))
}

// elemOf returns the type of the elements of a list.
func elemOf(typ string) string {
	if i := strings.IndexByte(typ, ']'); i >= 0 && strings.HasPrefix(typ, "[") {
		return typ[i+1:]
	}
	return ""
}

// isLetters reports whether the elements of a list may be those of a text.
func isLetters(elem string) bool {
	switch elem {
	case "uint8", "int8", "byte", "int32", "rune", "uint16", "":
		return true
	}
	return false
}

// memberOf returns how a member of a structure is shown.
func memberOf(v *api.Variable, member string) how {
	h := how{texts: redact.Member(v.Type, member), member: true}
	for i := range v.Children {
		if k := &v.Children[i]; k.Name == "Key" && k.Kind == reflect.String {
			h.name = k.Value
		}
	}
	return h
}
