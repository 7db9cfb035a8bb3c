package logstory

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/klog"
)

// rule is a line of the catalogue, ready to be looked for.
type rule struct {
	*probes.LogLine
	step *probes.Step
	in   []lookFor
	// end is the verbosity from which on a line shows that a call of the step has ended well; -1: no line does.
	end int
	// begin is the beginning of the message if the rule has no more of it, and quoted the same as klog quotes it,
	// without its quotes.
	begin, quoted string
	// hasUID: an expression finds the pod's UID, which then stands beside its name.
	hasUID bool
}

// lookFor is an expression, and the value in which it is looked for.
type lookFor struct {
	key  string
	expr *regexp.Regexp
}

// rules are all lines of the catalogue.
type rules struct {
	whole  map[string][]*rule // by the message, as klog quotes it
	begins []*rule
	byCRI  map[string]*probes.Step // by the method of the call
	// reports are the steps that report a pod's status, by name.
	reports map[string]*probes.Step
}

// theRules makes the rules of the catalogue, once.
var theRules = sync.OnceValue(func() *rules {
	out := &rules{whole: map[string][]*rule{}, byCRI: map[string]*probes.Step{}, reports: map[string]*probes.Step{}}
	c := probes.MustLoad()
	for i := range c.Steps {
		s := &c.Steps[i]
		if _, method, ok := strings.Cut(s.CRI, "."); ok {
			out.byCRI[method] = s
		}
		if s.Report() {
			out.reports[s.Name] = s
		}
		for j := range s.Log {
			out.add(s, &s.Log[j])
		}
	}
	return out
})

func (t *rules) add(s *probes.Step, l *probes.LogLine) {
	r := &rule{LogLine: l, step: s, end: -1}
	for key, expr := range l.In {
		look := lookFor{key, regexp.MustCompile(expr)} // a test of probes compiles them all
		r.in, r.hasUID = append(r.in, look), r.hasUID || look.expr.SubexpIndex(probes.LogUID) > 0
	}
	for i := range s.Log {
		if o := &s.Log[i]; o.At == probes.LogExit && (r.end < 0 || o.V < r.end) {
			r.end = o.V
		}
	}
	if begin, glob := strings.CutSuffix(l.Message, "*"); glob {
		quoted := strconv.Quote(begin)
		r.begin, r.quoted = begin, quoted[1:len(quoted)-1]
		t.begins = append(t.begins, r)
		return
	}
	quoted := strconv.Quote(l.Message)
	t.whole[quoted] = append(t.whole[quoted], r)
}

// of returns the rules of a line of the kubelet's, whose values are not read yet.
func (t *rules) of(e *entry) []*rule {
	if !e.headed { // JSON: the message may be anywhere
		k, ok := klog.Parse(e.text, e.at)
		if !ok {
			return nil
		}
		return t.ofMessage(strconv.Quote(k.Message), k.Message)
	}
	quoted, structured := e.head.Message()
	if structured {
		return t.ofMessage(quoted, strings.TrimPrefix(quoted, `"`))
	}
	return t.ofMessage("", e.head.Rest)
}

func (t *rules) ofMessage(quoted, begin string) (out []*rule) {
	if all := t.whole[quoted]; all != nil {
		return all
	}
	for _, r := range t.begins {
		if strings.HasPrefix(begin, r.begin) || strings.HasPrefix(begin, r.quoted) {
			out = append(out, r)
		}
	}
	return out
}

// found is what a line says of a call.
type found struct {
	values  map[string]string // fields or results by name
	numbers map[string]int64  // those that are numbers
	which   string
	pod     string // namespace/name
	uid     string
	err     string
}

// read takes an entry apart; ok is false if it is not what the rule is about.
func (r *rule) read(k *klog.Entry) (f found, ok bool) {
	for key, want := range r.When {
		if k.Text(key) != want {
			return f, false
		}
	}
	f.values = map[string]string{}
	for name, key := range r.Values {
		if v, has := k.Value(key); has {
			f.values[name] = v
		}
	}
	for _, look := range r.in {
		if !f.look(look.expr, textAt(k, look.key)) {
			return f, false
		}
	}
	if f.which == "" {
		f.which = f.values["volume"]
	}
	if f.which == "" {
		f.which = k.First("containerID", "containerName", "container")
	}
	if f.err == "" && r.At == probes.LogFailed {
		f.err = k.First("err", "error", "output")
	}
	if f.err == "" && r.At == probes.LogFailed {
		f.err = k.Message
	}
	if f.pod == "" {
		f.pod = k.First("pod", "object")
	}
	if f.uid == "" {
		f.uid = k.First("podUID", "podUid", "podID", "uid")
	}
	return f, true
}

func textAt(k *klog.Entry, key string) string {
	if key == probes.LogMessage {
		return k.Message
	}
	return k.Text(key)
}

// look adds the groups of an expression; it returns false if the text does not match.
func (f *found) look(expr *regexp.Regexp, text string) bool {
	m := expr.FindStringSubmatch(text)
	if m == nil {
		return false
	}
	for i, name := range expr.SubexpNames() {
		switch name {
		case "":
		case probes.LogPod:
			f.pod = m[i]
		case probes.LogUID:
			f.uid = m[i]
		case probes.LogError:
			f.err = m[i]
		case probes.LogWhich:
			f.which = m[i]
		default:
			f.values[name] = m[i]
		}
	}
	return true
}
