package reason

import (
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// fares has the text for a probe in each state, by the state's name in events.
var fares = map[string]probes.Text{
	"starting": text("probe %s starts", "探针 %s 正在启动"),
	"running":  text("probe %s works", "探针 %s 工作中"),
	"retrying": text("probe %s sees nothing now, and tries again", "探针 %s 暂时看不到任何东西，正在重试"),
	"failed":   text("probe %s has failed", "探针 %s 已失败"),
	"stopped":  text("probe %s was stopped", "探针 %s 已停止"),
}

// Probe returns the text that says how a probe fares, by its name and its event.
func Probe(name, state string, why probes.Reason) probes.Text {
	out := words.With(text("probe %s: %s", "探针 %s：%s"), name, state)
	if form, ok := fares[state]; ok {
		out = words.With(form, name)
	}
	if why.IsZero() {
		return out
	}
	return words.With(text("%s: %s", "%s：%s"), out, why.Text())
}

// Sight returns the text for one more probe that saw a call.
func Sight(name string) probes.Text {
	return words.With(text("seen by probe %s too", "探针 %s 也看到了"), name)
}
