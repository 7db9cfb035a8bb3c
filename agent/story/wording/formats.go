package wording

import (
	"fmt"
	"strings"
	"time"

	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// format puts the values of some fields into words. The fields are those that probes.Formats has for the format, in
// its order.
type format func(l words.Lang, c *history.Call, fields []string) string

var formats = map[probes.Format]format{
	probes.FormatShort: shortNote, probes.FormatWhole: wholeNote, probes.FormatBase: baseNote, probes.FormatDelay: delayNote,
	probes.FormatGrace: graceNote, probes.FormatContainers: containersNote, probes.FormatKill: killNote,
	probes.FormatVolumes: volumesNote, probes.FormatFound: foundNote, probes.FormatPlan: planNote,
	probes.FormatAdmitted: admittedNote, probes.FormatDifference: differenceNote, probes.FormatUpdate: updateNote, probes.FormatBegin: beginNote,
	probes.FormatStatus: statusNote, probes.FormatStored: storedNote,
	probes.FormatContainerState: containerNote, probes.FormatEvent: eventNote,
}

func shortNote(_ words.Lang, c *history.Call, fields []string) string {
	var out []string
	for _, f := range fields {
		out = append(out, words.ShortID(c.Text(f)))
	}
	return join(out...)
}

func baseNote(_ words.Lang, c *history.Call, fields []string) string {
	p := c.Text(fields[0])
	return p[strings.LastIndexByte(p, '/')+1:]
}

func delayNote(l words.Lang, c *history.Call, fields []string) string {
	d, err := time.ParseDuration(c.Text(fields[0]))
	if err != nil {
		return ""
	}
	return l.Inf(words.Text("again in %s", "%s 后再来"), words.Took(d))
}

func storedNote(l words.Lang, c *history.Call, fields []string) string {
	return c.Text(fields[0]) + changed(l, c, fields[1])
}

func changed(l words.Lang, c *history.Call, field string) string {
	switch {
	case !c.Ended:
		return ""
	case c.Flag(field):
		return l.In(words.Text(", changed", "，有变化"))
	}
	return l.In(words.Text(", as before", "，无变化"))
}

func differenceNote(l words.Lang, c *history.Call, fields []string) string {
	switch {
	case c.Flag(fields[0]):
		return l.In(words.Text("deletion", "要删除"))
	case c.Flag(fields[1]):
		return l.In(words.Text("spec changed", "spec 有变化"))
	case c.Flag(fields[2]):
		return l.In(words.Text("status differs", "状态不一致"))
	}
	return ""
}

func admittedNote(l words.Lang, c *history.Call, fields []string) string {
	switch {
	case !c.Ended, c.Text(fields[0]) == "":
		return ""
	case c.Flag(fields[0]):
		return l.In(words.Text("admitted", "准入"))
	}
	return strings.TrimSpace(l.In(words.Text("refused: ", "拒绝：")) + c.Text(fields[1]) + " " + c.Text(fields[2]))
}

func updateNote(l words.Lang, c *history.Call, fields []string) string {
	t := c.Text(fields[0])
	if w, ok := updateWords[t]; ok {
		t = l.In(w)
	}
	if c.Text(fields[1]) != "" {
		t += l.In(words.Text(", being deleted: ", "，正在删除：")) + grace(l, c, fields[1])
	}
	return t
}

func containersWord(l words.Lang, n int64) string {
	if n == 1 {
		return l.In(words.Text("1 container", "1 个容器"))
	}
	return l.Inf(words.Text("%d containers", "%d 个容器"), n)
}

func killNote(l words.Lang, c *history.Call, fields []string) string {
	n, known := c.Number(fields[0])
	out := ""
	if known {
		out = containersWord(l, n)
	}
	if g := grace(l, c, fields[1]); g != "" {
		out = strings.TrimSpace(out + "  " + g)
	}
	return out
}

func graceNote(l words.Lang, c *history.Call, fields []string) string { return grace(l, c, fields[0]) }

// grace returns a grace period, which the kubelet has in seconds.
func grace(l words.Lang, c *history.Call, field string) string {
	n, ok := c.Number(field)
	if !ok {
		return ""
	}
	return l.Inf(words.Text("grace period %d s", "宽限期 %d 秒"), n)
}

func beginNote(l words.Lang, c *history.Call, fields []string) string {
	if !c.Ended {
		return ""
	}
	if v, ok := c.Results[fields[1]].(bool); ok && !v {
		return l.In(words.Text("may not start yet", "还不能启动"))
	}
	return c.Text(fields[0])
}

func containersNote(l words.Lang, c *history.Call, fields []string) string {
	n, ok := c.Number(fields[0])
	if !ok {
		return ""
	}
	return containersWord(l, n)
}

func statusNote(l words.Lang, c *history.Call, fields []string) string {
	n := c.Text(fields[0])
	if r := c.Text(fields[1]); r != "" {
		n += "  " + r
	}
	if j, ok := c.Results[fields[2]].(probes.RawJSON); ok && strings.Contains(string(j), `"Ready":"True"`) {
		n += l.In(words.Text(", ready", "，已就绪"))
	}
	return n
}

func volumesNote(l words.Lang, c *history.Call, fields []string) string {
	n, ok := c.Number(fields[0])
	switch {
	case !ok:
		return ""
	case n == 0:
		return l.In(words.Text("none", "没有"))
	case c.Ended && c.Err == "":
		return l.Inf(words.Text("%d mounted", "%d 个已挂载"), n)
	}
	return l.Inf(words.Text("%d wanted", "需要 %d 个"), n)
}

func foundNote(l words.Lang, c *history.Call, fields []string) string {
	n, _ := c.Number(fields[0])
	m, ok := c.Number(fields[1])
	switch {
	case !ok || m == 0:
		return l.In(words.Text("none", "没有"))
	case !c.Ended:
		return fmt.Sprint(m)
	}
	return l.Inf(words.Text("%d of %d", "%d / %d"), n, m)
}

func planNote(l words.Lang, c *history.Call, fields []string) string {
	if !c.Ended || c.Text(fields[0]) == "" {
		return ""
	}
	var do []string
	if c.Flag(fields[0]) && !c.Flag(fields[1]) {
		do = append(do, l.In(words.Text("kill the pod", "杀掉 Pod")))
	}
	if c.Flag(fields[1]) {
		do = append(do, l.In(words.Text("sandbox", "沙箱")))
	}
	if n, _ := c.Number(fields[2]); n > 0 {
		do = append(do, l.Inf(words.Text("kill %d", "杀掉 %d 个"), n))
	}
	if n := countList(c.Text(fields[3])); n > 0 {
		do = append(do, l.Inf(words.Text("%d init", "%d 个 init 容器"), n))
	}
	if n := countList(c.Text(fields[4])); n > 0 {
		do = append(do, l.Inf(words.Text("start %d", "启动 %d 个容器"), n))
	}
	if n, _ := c.Number(fields[5]); n > 0 {
		do = append(do, l.Inf(words.Text("resize %d", "调整 %d 个容器的资源"), n))
	}
	if len(do) == 0 {
		return l.In(words.Text("nothing to do", "没有要做的事"))
	}
	return l.In(words.Text("plan: ", "计划：")) + strings.Join(do, l.In(words.Text(", ", "、")))
}

// countList counts the members of a list as fmt prints it: [0 1].
func countList(s string) int { return len(strings.Fields(strings.Trim(s, "[]"))) }
