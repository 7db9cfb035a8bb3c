package filter

import (
	"strings"

	"github.com/podstep/podstep/probes"
)

// fieldPrefix begins the keys for single fields, such as field.image.
const fieldPrefix = "field."

// sort is what kind of value a key stands for.
type sort int

const (
	nameKey sort = iota
	textKey
	numberKey
	durationKey
	fieldKey
)

func (s sort) operators() []string {
	switch s {
	case numberKey:
		return []string{"=", "!=", ">", "<", ">=", "<="}
	case durationKey:
		return []string{">", "<", ">=", "<="}
	case fieldKey:
		return []string{"=", "!=", "~", "!~", "=~", ">", "<", ">=", "<="}
	}
	return []string{"=", "!=", "~", "!~", "=~"}
}

// key is what a term can ask about. Either text or number is set, except for fields.
type key struct {
	name   string
	other  string // another word for it
	sort   sort
	values []string // all possible values, if they are known
	// text returns what a value is compared with.
	text   func(e *probes.Event, value string) string
	number func(*probes.Event) (v float64, known bool)
	ofPod  bool   // MatchPod goes by it
	form   string // an example
	about  probes.Text
}

var kinds = []string{
	string(probes.Enter), string(probes.Exit), string(probes.Held), string(probes.Released),
	string(probes.Fault), string(probes.Drop), string(probes.Note),
}

var keys = []key{
	{name: "pod", form: "pod~web-*", text: podName, ofPod: true,
		about: probes.Text{En: "the pod's name, or namespace/name", Zh: "Pod 的名称，或 namespace/name"}},
	{name: "ns", other: "namespace", form: "ns=shop", text: namespace, ofPod: true,
		about: probes.Text{En: "the pod's namespace", Zh: "Pod 所在的命名空间"}},
	{name: "uid", form: "uid~6a8872fd", text: uid, ofPod: true,
		about: probes.Text{En: "the pod's UID", Zh: "Pod 的 UID"}},
	{name: "step", form: "step~cri.*", text: func(e *probes.Event, _ string) string { return e.Step },
		about: probes.Text{En: "the step", Zh: "步骤"}},
	{name: "stage", form: "stage=runtime", text: func(e *probes.Event, _ string) string { return e.Stage },
		about: probes.Text{En: "the stage that the step belongs to", Zh: "步骤所属的阶段"}},
	{name: "kind", form: "kind=exit", values: kinds, text: func(e *probes.Event, _ string) string { return string(e.Kind) },
		about: probes.Text{En: "what happened: " + strings.Join(kinds, ", "), Zh: "发生了什么：" + strings.Join(kinds, "、")}},
	{name: "error", sort: textKey, ofPod: true, form: `error~"not found"`, text: func(e *probes.Event, _ string) string { return e.Error },
		about: probes.Text{En: "the text of the error", Zh: "错误的文字"}},
	{name: "slow", other: "took", sort: durationKey, form: "slow>2s", number: duration,
		about: probes.Text{En: "how long the step, or the hold, took", Zh: "步骤或停留用了多长时间"}},
	{name: "sync", sort: numberKey, form: "sync=3", number: func(e *probes.Event) (float64, bool) { return float64(e.Sync), true },
		about: probes.Text{En: "which turn of the pod's worker", Zh: "Pod worker 的第几轮同步"}},
	{name: "goroutine", form: "goroutine=worker", text: func(e *probes.Event, _ string) string { return e.Goroutine },
		about: probes.Text{En: "the kind of goroutine it ran on", Zh: "运行所在的 goroutine 种类"}},
	{name: "span", sort: numberKey, form: "span=812", number: func(e *probes.Event) (float64, bool) { return float64(e.Span), e.Span != 0 },
		about: probes.Text{En: "one call, by its number", Zh: "某一次调用，按编号"}},
	{name: "seq", sort: numberKey, form: "seq>=4000", number: func(e *probes.Event) (float64, bool) { return float64(e.Seq), true },
		about: probes.Text{En: "the number of the event", Zh: "事件的编号"}},
	{name: "probe", form: "probe=cri", text: func(e *probes.Event, _ string) string { return e.Probe },
		about: probes.Text{En: "what saw it: woven, cri, delve, uprobe, log", Zh: "由谁看到：woven、cri、delve、uprobe、log"}},
	{name: "field", sort: fieldKey, form: "field.image~busybox",
		about: probes.Text{En: "an argument or a result; without a name, any of them", Zh: "参数或结果；不写名称则指任意一个"}},
}

func keyNamed(name string) *key {
	if strings.HasPrefix(name, fieldPrefix) && len(name) > len(fieldPrefix) {
		name = "field"
	}
	for i := range keys {
		if k := &keys[i]; k.name == name || (k.other != "" && k.other == name) {
			return k
		}
	}
	return nil
}

func keyNames() string {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.name
	}
	return strings.Join(names, " ")
}

// podName returns the pod's name. It includes the namespace if the wanted value has a slash, which names have not.
func podName(e *probes.Event, value string) string {
	switch {
	case e.Pod == nil:
		return ""
	case strings.Contains(value, "/"):
		return e.Pod.NamespacedName()
	}
	return e.Pod.Name
}

func namespace(e *probes.Event, _ string) string {
	if e.Pod == nil {
		return ""
	}
	return e.Pod.Namespace
}

func uid(e *probes.Event, _ string) string {
	if e.Pod == nil {
		return ""
	}
	return e.Pod.UID
}

// duration returns the duration in nanoseconds. Only events that end something have one.
func duration(e *probes.Event) (float64, bool) {
	return float64(e.DurationNs), e.Kind == probes.Exit || e.Kind == probes.Released
}
