package reach

import (
	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes/words"
)

// Record returns the check of the directory to which an agent records.
func Record(r *agentpb.RecordDir) Check {
	const mib = 1 << 20
	have := words.With(words.Text("%s: %d of %d MiB, %d events recorded, %d dropped", "%s：%d / %d MiB，已记录 %d 个事件，丢弃 %d 个"), r.Dir, (r.Bytes+mib-1)/mib, r.Limit/mib, r.Events, r.Dropped)
	switch {
	case r.Failing != "":
		why := words.With(words.Text("nothing can be recorded now: %s", "现在无法记录：%s"), r.Failing)
		return warn("record", words.Joined(semicolon, have, why), words.Text("give the disk room, or fix it; podstep tries again by itself", "给磁盘腾出空间或修好它；podstep 会自行再试"))
	case r.Dropped > 0:
		return warn("record", have, words.Text("look whether the disk was full or slow; the record says when", "看看磁盘是否满过或变慢；记录里有时间"))
	}
	return ok("record", have)
}
