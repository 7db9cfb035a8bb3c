package agent

import (
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/hook"
)

// fieldsOfEvent is the number of agentpb.Event's fields.
const fieldsOfEvent = 11

const (
	// takerRoom is how many bytes of fields a call's side has room for on the
	// stack. Most need less than half; more costs an allocation.
	takerRoom = 160
	// keptRoom is the room of a span that keeps the fields of its enter.
	keptRoom = 96
)

// fieldBytes are fields in wire form, as they are in an event: each with the tag and
// the length that it has there.
type fieldBytes []byte

// fieldName is a field's name, and what it is in wire form.
type fieldName struct {
	name    string
	encoded []byte
}

func fieldNames(fields []probes.Field) []fieldName {
	out := make([]fieldName, len(fields))
	for i, f := range fields {
		out[i] = fieldName{f.Name, appendString(nil, 1, f.Name)}
	}
	return out
}

// appendText appends a text field.
func (n *fieldName) appendText(b fieldBytes, v string) fieldBytes {
	b = protowire.AppendTag(b, fieldsOfEvent, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(len(n.encoded)+1+protowire.SizeBytes(len(v))))
	b = append(b, n.encoded...)
	return protowire.AppendString(append(b, byte(textField)<<3|byte(protowire.BytesType)), v)
}

// appendNumber appends a field whose value is a number or a flag.
func (n *fieldName) appendNumber(b fieldBytes, kind fieldKind, v uint64) fieldBytes {
	b = protowire.AppendTag(b, fieldsOfEvent, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(len(n.encoded)+1+protowire.SizeVarint(v)))
	b = append(b, n.encoded...)
	return protowire.AppendVarint(append(b, byte(kind)<<3|byte(protowire.VarintType)), v)
}

// append appends a field of any kind.
func (w fieldBytes) append(f *field) fieldBytes {
	w = protowire.AppendTag(w, fieldsOfEvent, protowire.BytesType)
	w = protowire.AppendVarint(w, uint64(f.size()))
	return f.appendTo(w)
}

// protos are the fields as messages.
func (w fieldBytes) protos() []*agentpb.Field {
	e := &agentpb.Event{}
	if proto.Unmarshal(w, e) != nil {
		return nil // it was written here
	}
	return e.Fields
}

// find finds the value of a field: the bytes of a text, or a number.
func (w fieldBytes) find(name string) (text []byte, num uint64, found bool) {
	for len(w) > 0 {
		_, _, n := protowire.ConsumeTag(w)
		f, m := protowire.ConsumeBytes(w[max(n, 0):])
		if n < 0 || m < 0 {
			return nil, 0, false
		}
		w = w[n+m:]
		if found, text, num := value(f, name); found {
			return text, num, true
		}
	}
	return nil, 0, false
}

// value reads a field, if it has that name, which comes first.
func value(f []byte, name string) (found bool, text []byte, num uint64) {
	if name != "" {
		_, _, n := protowire.ConsumeTag(f)
		is, m := protowire.ConsumeBytes(f[max(n, 0):])
		if n < 0 || m < 0 || string(is) != name {
			return false, nil, 0
		}
		f = f[n+m:]
	}
	_, typ, n := protowire.ConsumeTag(f)
	if n < 0 {
		return false, nil, 0
	}
	switch typ {
	case protowire.BytesType:
		text, n = protowire.ConsumeBytes(f[n:])
	case protowire.VarintType:
		num, n = protowire.ConsumeVarint(f[n:])
	}
	return n >= 0, text, num
}

// word is a field that is a text; empty if it is not there.
func (w fieldBytes) word(name string) string {
	text, _, _ := w.find(name)
	return string(text)
}

// number is a field that is a number.
func (w fieldBytes) number(name string) (int64, bool) {
	text, num, found := w.find(name)
	return int64(num), found && text == nil
}

// flag is a field that is true or false; false if it is not there.
func (w fieldBytes) flag(name string) bool {
	_, num, _ := w.find(name)
	return num != 0
}

// taker takes the values of one side of a call as woven code puts them: first
// the pods, then the fields, which it encodes at once. It is on the caller's
// stack, with room for the fields of nearly every step.
type taker struct {
	a    *Agent
	s    *span
	side int
	took int // values so far
	pods int // how many of the values, from the first, are pods

	names []fieldName
	pod   *pod            // if the call is about one
	list  []listed        // if it is about several
	ops   map[*pod]string // what is done to them, of PodUpdates
	made  string          // the id of what the call made

	// At exit: how the call ended, and whether it did so without a word.
	how   hook.Outcome
	quiet bool

	wire fieldBytes
	room [takerRoom]byte
}

// atEnter makes the taker ready for the values of a call that begins.
func (t *taker) atEnter(a *Agent, s *span) {
	t.a, t.s, t.side = a, s, enter
	t.pods, t.names = s.step.enterPods, s.step.enterNames
	if t.wire = s.fields()[:0]; t.wire == nil {
		t.wire = t.empty()
	}
}

// atExit makes the taker ready for the values of a call that ends.
func (t *taker) atExit(a *Agent, s *span, how hook.Outcome) {
	t.a, t.s, t.side, t.how = a, s, exit, how
	t.pods, t.names = s.step.exitPods, s.step.exitNames
	t.wire = t.empty()
}

// empty is the room, empty. The compiler does not see that it is in t, and
// leaves t on the stack: nobody keeps wire but kept, which copies it.
func (t *taker) empty() fieldBytes {
	return unsafe.Slice(hook.NoEscape(&t.room[0]), takerRoom)[:0]
}

// Quiet takes whether the call is worth no event. If so, and it is not part of
// any story yet, it has ended here.
func (t *taker) Quiet(quiet bool) bool {
	t.quiet = quiet && t.s.endQuietly(t.how)
	return t.quiet
}

// Take takes the next value.
func (t *taker) Take(v any) {
	i := t.took
	t.took++
	if i < t.pods {
		t.takePod(i, v)
		return
	}
	if t.side == exit && t.made == "" && t.s.step.makes {
		t.made, _ = v.(string)
	}
	if i -= t.pods; i < len(t.names) {
		t.wire = t.wire.take(&t.names[i], v)
	}
}

func (t *taker) takePod(i int, v any) {
	switch src := &t.s.step.Pod; src.Kind {
	case probes.PodList, probes.PodObjects:
		t.list = t.a.pods.fromList(v, src.Kind == probes.PodObjects)
	case probes.PodUpdates:
		for _, o := range t.a.pods.fromList(v, false) {
			if t.ops == nil {
				t.ops = map[*pod]string{}
			}
			t.ops[o.pod] = src.Updates[i].Op
			t.list = append(t.list, o)
		}
	default:
		t.pod = t.a.pods.fromValue(v)
	}
}

// takeAll takes the values of a call that is seen from outside.
func (t *taker) takeAll(values []any) {
	for _, v := range values {
		t.Take(v)
	}
}

// take appends the field that a value makes, if it makes one.
func (w fieldBytes) take(n *fieldName, v any) fieldBytes {
	switch v := v.(type) {
	case string:
		return n.appendText(w, cleanText(v))
	case bool:
		if v {
			return n.appendNumber(w, flagField, 1)
		}
		return n.appendNumber(w, flagField, 0)
	case int:
		return n.appendNumber(w, numberField, uint64(v))
	}
	f, ok := toField(n.name, v)
	if !ok {
		return w
	}
	return w.append(&f)
}

// kept is what was taken, to be kept.
func (t *taker) kept() fieldBytes {
	if len(t.wire) == 0 {
		return nil
	}
	if &t.wire[0] == &t.room[0] {
		return append(fieldBytes(nil), t.wire...)
	}
	return t.wire
}

// keep has the span keep what was taken, if somebody may want the call stopped
// here: then it is shown. It returns whether that is so.
func (t *taker) keep() bool {
	if t.a.holds.armed.Load() == 0 {
		return false
	}
	t.save()
	return true
}

// save has the span keep what was taken.
func (t *taker) save() {
	k := t.s.kept
	if k == nil {
		k = &keptFields{}
		t.s.kept = k
	}
	if t.side == exit {
		k.exit = t.kept()
	} else {
		k.enter = t.kept()
	}
}
