package reason

import (
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// problems are the texts of the codes. A name in braces stands for the argument of that name, {cause} for the text of
// the cause.
var problems = map[agentpb.Problem_Code]probes.Text{
	agentpb.Problem_INTERNAL: text("podstep's agent failed at this request: {error}", "podstep 代理处理该请求时出错：{error}"),
	agentpb.Problem_READ_ONLY: text("this agent is read-only: it holds no pod and injects no fault, whoever asks; start it without PODSTEP_READ_ONLY or --read-only to allow that",
		"该代理是只读的：不为任何人停住 Pod 或注入故障；要允许，请在启动时去掉 PODSTEP_READ_ONLY 或 --read-only"),

	agentpb.Problem_TOKEN_NEEDED:    text("from another machine this takes a token of the ServiceAccount {account}", "从别的机器做这件事需要 ServiceAccount {account} 的令牌"),
	agentpb.Problem_TOKEN_INVALID:   text("the API server does not accept the token: {error}", "API 服务器不接受该令牌：{error}"),
	agentpb.Problem_TOKEN_OF_OTHER:  text("the token is of {user}", "令牌属于 {user}"),
	agentpb.Problem_TOKEN_UNCHECKED: text("the agent cannot have tokens checked ({error}); podstep on the node, or by --ssh, needs none", "代理无法核对令牌（{error}）；在节点上或用 --ssh 则不需要令牌"),

	agentpb.Problem_POD_NOT_NAMED:   text("which pod?", "哪个 Pod？"),
	agentpb.Problem_POD_NOT_FOUND:   text("no pod {pod} on this node; see podstep pods", "本节点上没有 Pod {pod}；见 podstep pods"),
	agentpb.Problem_POD_GONE:        text("pod {pod} is gone from this node", "Pod {pod} 已从本节点消失"),
	agentpb.Problem_POD_AMBIGUOUS:   text("{count} pods match {pod}: {pods}; name one, with its namespace", "{count} 个 Pod 符合 {pod}：{pods}；请连同命名空间指定一个"),
	agentpb.Problem_BAD_POD_PATTERN: text(`bad pod pattern "{pattern}": syntax error in pattern`, `Pod 模式“{pattern}”有语法错误`),

	agentpb.Problem_STEP_NOT_FOUND:   text(`no step is named "{pattern}"; see podstep steps`, `没有名为“{pattern}”的步骤；见 podstep steps`),
	agentpb.Problem_BAD_STEP_PATTERN: text(`bad step pattern "{pattern}": syntax error in pattern`, `步骤模式“{pattern}”有语法错误`),
	agentpb.Problem_BAD_MODE:         text("no such way of stepping: {mode}", "没有这种单步方式：{mode}"),
	agentpb.Problem_BAD_ON:           text("a breakpoint acts on enter, exit or error; there is no {on}", "断点作用于进入、返回或出错；没有 {on}"),

	agentpb.Problem_NOT_POSITIVE:    text("the {what} must be longer than 0", "{what}必须大于零"),
	agentpb.Problem_TOO_LONG:        text("a {what} of {asked} is too long: this agent grants at most {most}", "{what} {asked} 太长：该代理最多允许 {most}"),
	agentpb.Problem_BAD_SLOWER_THAN: text("a step cannot be slower than {asked}", "步骤不可能慢于 {asked}"),
	agentpb.Problem_LONG_MESSAGE:    text("the message is longer than {most} bytes; write a shorter one", "留言超过 {most} 字节；请写短一些"),

	agentpb.Problem_NOT_HELD:     text("pod {pod} is not held; podstep hold holds it at its next step", "Pod {pod} 没有被停住；podstep hold 会在下一步停住它"),
	agentpb.Problem_HELD_ALREADY: text("pod {pod} is held already, at {on} of {step}; podstep holds shows for whom, podstep step goes on from there", "Pod {pod} 已被停住，{step} {on}；podstep holds 显示是谁停住的，podstep step 从那里继续"),
	agentpb.Problem_HOLD_PENDING: text("somebody else is about to hold this pod; podstep continue takes that back", "已有人正要停住这个 Pod；podstep continue 可撤回"),
	agentpb.Problem_WAIT_TIMEOUT: text("pod {pod} came to no such place in {wait} and goes on freely; a longer --wait may help, a running pod is looked at every 60 to 90 s",
		"Pod {pod} 在 {wait} 内没有到达这样的位置，照常运行；可以用 --wait 等久一些，运行中的 Pod 每 60 到 90 秒被检查一次"),
	agentpb.Problem_WAIT_ENDED:    text("pod {pod} is not held: {cause}", "Pod {pod} 没有被停住：{cause}"),
	agentpb.Problem_NOT_HOLDABLE:  text("pod {pod} cannot be held: {reason}", "Pod {pod} 不能被停住：{reason}"),
	agentpb.Problem_TOO_MANY_HELD: text("{count} pods are held already, the most that this agent holds at one time; podstep pods lists them, podstep continue lets one go", "已有 {count} 个 Pod 被停住，达到该代理的上限；podstep pods 可列出它们，podstep continue 可放行"),
	agentpb.Problem_CRITICAL_POD:  text("pod {pod} is not held because {cause}; --force does it all the same", "不停住 Pod {pod}，因为{cause}；--force 可强制"),
	agentpb.Problem_CONTROL_PLANE: text("it is a static pod of the control plane", "它是控制平面的静态 Pod"),
	agentpb.Problem_SYSTEM_CRITICAL: text("it is system-critical (priority class {class})",
		"它是系统关键 Pod（优先级类 {class}）"),
	agentpb.Problem_PRIORITY_UNKNOWN: text("it is in kube-system and its priority is not known, so it may be system-critical",
		"它在 kube-system 中且优先级未知，可能是系统关键 Pod"),

	agentpb.Problem_BREAKPOINT_NOT_FOUND: text("there is no breakpoint {breakpoint}; see podstep break ls", "没有断点 {breakpoint}；见 podstep break ls"),
	agentpb.Problem_TOO_MANY_BREAKPOINTS: text("there are {count} breakpoints already; remove some with podstep break rm", "已有 {count} 个断点；请用 podstep break rm 删除一些"),
	agentpb.Problem_FAIL_ON_EXIT:         text("a step can be made to fail only as it is entered", "只能在进入步骤时让它失败"),
	agentpb.Problem_NO_STEP_ALLOWS:       text("no pod can be held at {on} of {step}: {cause}", "不能在 {step} {on}停住 Pod：{cause}"),
	agentpb.Problem_STEP_RULE:            text("{rule}", "{rule}"),
	agentpb.Problem_STEP_NOT_SEEN:        text("this kubelet's probe does not see it", "这个 kubelet 的探针看不到它"),
	agentpb.Problem_STEP_CANNOT_FAIL:     text("it returns no error", "它不返回错误"),
	agentpb.Problem_FUNCTION_DIFFERS:     text("this kubelet's function is not the one of {version} from which podstep knows which locks are held here", "这个 kubelet 的函数与 {version} 的不同，而 podstep 是从后者得知这里持有哪些锁的"),
	agentpb.Problem_PROBE_CANNOT_HOLD:    text("{why}", "{why}"),
	agentpb.Problem_PROBE_CANNOT_FAIL:    text("{why}", "{why}"),

	agentpb.Problem_NO_DEBUGGER: text("no debugger sees pod {pod} where it is held: podstep attach --probe delve has one", "没有调试器能看到停住的 Pod {pod}：podstep attach --probe delve 会带上一个"),
	agentpb.Problem_LOOK_FAILED: text("the debugger has no answer: {error}", "调试器没有给出答案：{error}"),

	agentpb.Problem_NO_LINES: text("no probe holds pods at lines of the kubelet's code: podstep attach --probe cri,delve,api --allow-holds --risk-the-kubelet does, with a Delve of its own",
		"没有探针能把 Pod 停在 kubelet 代码的某一行：podstep attach --probe cri,delve,api --allow-holds --risk-the-kubelet 可以，它自带 Delve"),
	agentpb.Problem_LINES_FAILED:         text("the debugger cannot hold a pod there: {error}", "调试器不能把 Pod 停在那里：{error}"),
	agentpb.Problem_AT_HOLDS:             text("a breakpoint at a place of the code holds or logs, as the pod comes there; leave step, on, slower-than and other actions out", "代码位置上的断点只能在 Pod 到达时停住它或记录值；请去掉 step、on、slower-than 和其他动作"),
	agentpb.Problem_BAD_LOG_FIELD:        text("no step here has a value named {field}; there are: {fields}", "这里没有步骤有名为 {field} 的值；可用的有：{fields}"),
	agentpb.Problem_LATE_LOG_FIELD:       text("the value {field} is there only when the step returns: log it with --on exit, or --on error", "步骤返回时才有 {field} 的值：请用 --on exit 或 --on error 记录"),
	agentpb.Problem_TOO_MANY_EXPRESSIONS: text("a log at a place of the code reads at most {most} expressions, and these are {count}; name fewer", "代码位置上的日志最多读取 {most} 个表达式，这里有 {count} 个；请减少"),
	agentpb.Problem_BAD_LOG_FILTER:       text("the filter cannot be read: {error}", "无法理解过滤条件：{error}"),
	agentpb.Problem_NO_STACK:             text("it is no call of a function, so it has no stack", "它不是函数调用，没有调用栈"),

	agentpb.Problem_NO_RETRY: text("this agent is beside the kubelet, not in it, so it cannot end a back-off; a woven kubelet (podstep-kubelet) can",
		"该代理在 kubelet 旁边，而不在其中，无法结束退避；织入的 kubelet（podstep-kubelet）可以"),
	agentpb.Problem_RETRY_PENDING: text("somebody else has just asked that the kubelet tries {pod} again, and it is about to", "已有人要求 kubelet 重试 {pod}，马上就会开始"),
	agentpb.Problem_NOT_RETRIED:   text("the kubelet does not try {pod} again: {reason}", "kubelet 不会重试 {pod}：{reason}"),
	agentpb.Problem_RETRY_HELD:    text("pod {pod} is held, at {on} of {step}, and goes on when podstep continue lets it go", "Pod {pod} 被停住，{step} {on}；podstep continue 放行后它才会继续"),
	agentpb.Problem_RETRY_WAITS: text("the pod's worker is still in turn {sync} and has come to no back-off in {wait}; the next turn follows at once, podstep trace {pod} shows it",
		"Pod 的 worker 仍在第 {sync} 轮，{wait} 内没有遇到退避；这一轮结束后立即开始下一轮，podstep trace {pod} 可以看到"),

	agentpb.Problem_TOO_MANY_WATCHERS: text("{count} clients watch this agent already, and it takes no more: end one of them (a screen, podstep trace, a script), then try again",
		"已有 {count} 个客户端连着该代理，不能再多：请结束其中一个（屏幕、podstep trace、脚本）后重试"),

	agentpb.Problem_NOT_RECORDED: text("this agent records nothing to look back at; podstep attach --record-dir DIR does", "该代理没有可供回看的记录；podstep attach --record-dir DIR 会记录"),
	agentpb.Problem_SEGMENT_GONE: text("the agent has no segment {name} any more: it keeps no more; ask again", "代理已没有记录段 {name}：它只保留有限的记录；请再试一次"),
}

// unseen is the text of STEP_NOT_SEEN if a probe gives the reason.
var unseen = text("it is not seen: {why}", "看不到它：{why}")

// tokenRefused is the text of TOKEN_NEEDED if a token came that does not count.
var tokenRefused = text("from another machine this takes a token of the ServiceAccount {account}, and the one that came does not count: {cause}",
	"从别的机器做这件事需要 ServiceAccount {account} 的令牌，而收到的令牌不算数：{cause}")

// values are the texts of arguments whose values are words of the protocol.
var values = map[string]map[string]probes.Text{
	"on": {"enter": text("enter", "进入时"), "exit": text("exit", "返回时"), agentpb.Inside: text("a line", "某一行")},
	"what": {
		"lease": text("lease", "租约"), "wait": text("wait", "等待时间"), "delay": text("delay", "延迟"), "life": text("life", "有效期"),
	},
	"reason": reasons,
}

// Problem returns the text of a problem. It is empty for nil, and for a code that this podstep does not know.
func Problem(p *agentpb.Problem) probes.Text {
	t, ok := problems[p.GetCode()]
	if !ok {
		return probes.Text{}
	}
	if p.GetCode() == agentpb.Problem_STEP_NOT_SEEN && p.GetReason() != nil {
		t = unseen
	}
	if p.GetCode() == agentpb.Problem_TOKEN_NEEDED && p.GetCause() != nil {
		t = tokenRefused
	}
	args := map[string]probes.Text{}
	for name, v := range p.GetArgs() {
		args[name] = words.Same(v)
		if t, ok := values[name][v]; ok {
			args[name] = t
		}
	}
	if s := probes.MustLoad().Step(p.GetArgs()["step"]); s != nil {
		args["rule"] = s.Hold.Why
	}
	if reason, ok := args["reason"]; ok {
		args["cause"] = reason
	}
	if r := p.GetReason(); r != nil {
		args["why"] = probes.Reason{Code: r.GetCode(), Args: r.GetArgs()}.Text()
	}
	if p.GetCause() != nil {
		args["cause"] = Problem(p.GetCause())
	}
	return fill(t, args)
}

// Failed makes the error of a request: the problem, with its English text as the message.
func Failed(code codes.Code, p *agentpb.Problem) error {
	st := status.New(code, Problem(p).En)
	if detailed, err := st.WithDetails(p); err == nil {
		st = detailed
	}
	return st.Err()
}

// ProblemOf returns the problem that an error of a call has; nil for errors that are not the agent's.
func ProblemOf(err error) *agentpb.Problem {
	st, ok := status.FromError(err)
	if !ok || err == nil {
		return nil
	}
	for _, d := range st.Details() {
		if p, ok := d.(*agentpb.Problem); ok {
			return p
		}
	}
	return nil
}

// CodeOf returns the code of ProblemOf.
func CodeOf(err error) agentpb.Problem_Code { return ProblemOf(err).GetCode() }

// worded is an error that has words in each language.
type worded interface{ Words() probes.Text }

// Error returns the words of an error. If it has none of its own, they are its message, in each language. They are
// empty for nil.
func Error(err error) probes.Text {
	if err == nil {
		return probes.Text{}
	}
	var w worded
	if errors.As(err, &w) {
		return w.Words()
	}
	return words.Same(err.Error())
}

// problem is an error with words.
type problem struct{ text probes.Text }

func (e *problem) Error() string      { return e.text.En }
func (e *problem) Words() probes.Text { return e.text }

// New makes an error that has words in each language. Its message is the English one.
func New(en, zh string) error { return &problem{text(en, zh)} }

// Errorf is New with values.
func Errorf(en, zh string, args ...any) error { return &problem{words.With(text(en, zh), args...)} }
