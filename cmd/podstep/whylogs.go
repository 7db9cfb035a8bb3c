package main

import (
	"fmt"
	"io"

	"github.com/podstep/podstep/agent/explain/causes"
	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/probes/words"
)

// logLines is how many lines of a container's log are shown.
const logLines = 10

// lastLines returns the last lines of the container that the first finding is about; nil if it is about none. Of a
// container that runs again, these are the lines of its run before.
func lastLines(r *causes.Report, logs []evidence.ContainerLog) *evidence.ContainerLog {
	if len(r.Findings) == 0 {
		return nil
	}
	for i := range logs { // the run before comes first
		if log := &logs[i]; log.Container == r.Findings[0].Subject {
			if n := len(log.Lines); n > logLines {
				log.Lines = log.Lines[n-logLines:]
			}
			return log
		}
	}
	return nil
}

// writeLog prints the last lines of a container, marked as its own.
func writeLog(w io.Writer, log *evidence.ContainerLog, l words.Lang) {
	if log == nil {
		return
	}
	name := words.Clean(log.Container)
	switch {
	case log.Why != "":
		fmt.Fprintf(w, "\n%s\n", l.Inf(words.Text("The log of container %s cannot be read: %s", "无法读取容器 %s 的日志：%s"), name, words.OneLine(log.Message)))
		return
	case len(log.Lines) == 0:
		fmt.Fprintf(w, "\n%s\n", l.Inf(words.Text("Container %s has written nothing.", "容器 %s 没有输出。"), name))
		return
	case log.Previous:
		fmt.Fprintf(w, "\n%s\n", l.Inf(words.Text("The last lines that container %s wrote before it was started again:", "容器 %s 重新启动之前输出的最后几行："), name))
	default:
		fmt.Fprintf(w, "\n%s\n", l.Inf(words.Text("The last lines that container %s wrote:", "容器 %s 输出的最后几行："), name))
	}
	for _, line := range log.Lines {
		fmt.Fprintf(w, "  | %s\n", line)
	}
}
