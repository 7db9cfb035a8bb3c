package reasons

import "github.com/podstep/podstep/probes"

// Logged is why nothing is held at what a log tells.
var Logged = probes.NewReason("log.told", probes.Text{
	En: "a log tells of it afterwards",
	Zh: "这是日志事后记下的",
})

// The reasons why a log does not show a step.
var (
	NotLogged = probes.NewReason("log.never", probes.Text{
		En: "the kubelet writes no line to its log at this step",
		Zh: "kubelet 在这一步不写日志",
	})
	LoggedAt = probes.NewReason("log.verbosity", probes.Text{
		En: "the kubelet writes it to its log only from -v={v} on, and this log has up to -v={now}",
		Zh: "kubelet 从 -v={v} 起才记下它，而这份日志只到 -v={now}",
	})
	RuntimeLog = probes.NewReason("log.runtime", probes.Text{
		En: "the runtime's log shows it, and that is not among the files",
		Zh: "它在运行时的日志里，而给出的文件中没有那份日志",
	})
	KubeletLog = probes.NewReason("log.kubelet", probes.Text{
		En: "the kubelet's log shows it, and that is not among the files",
		Zh: "它在 kubelet 的日志里，而给出的文件中没有那份日志",
	})
)
