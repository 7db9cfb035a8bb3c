package state

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/podstep/podstep/probes"
)

// failure is a reason that the kubelet gives when it could not do something for
// a pod: in two or three words, and in a sentence.
type failure struct{ brief, full probes.Text }

var failures = map[string]failure{
	"ErrImagePull":               {text("image pull failed", "镜像拉取失败"), text("its image cannot be pulled", "镜像拉取失败")},
	"ImagePullBackOff":           {text("image pull failed", "镜像拉取失败"), text("its image cannot be pulled, and the kubelet waits before it tries again", "镜像拉取失败，kubelet 等一会儿再试")},
	"ErrImageNeverPull":          {text("image not on the node", "节点上没有镜像"), text("its image is not on the node and may not be pulled", "节点上没有镜像，而策略又不允许拉取")},
	"InvalidImageName":           {text("image name invalid", "镜像名无效"), text("its image's name is not valid", "镜像名无效")},
	"ImageInspectError":          {text("image unreadable", "镜像无法检查"), text("its image cannot be inspected", "无法检查镜像")},
	"CrashLoopBackOff":           {text("crash loop", "反复崩溃"), text("it ends again and again, and the kubelet waits before it starts it anew", "容器反复退出，kubelet 等一会儿再启动它")},
	"CreateContainerConfigError": {text("config error", "配置有误"), text("its configuration cannot be made", "无法生成它的配置")},
	"CreateContainerError":       {text("create failed", "创建失败"), text("the runtime cannot create it", "运行时无法创建它")},
	"RunContainerError":          {text("start failed", "启动失败"), text("the runtime cannot start it", "运行时无法启动它")},
	"PostStartHookError":         {text("postStart failed", "postStart 失败"), text("its postStart hook failed", "它的 postStart 钩子失败")},
	"CreatePodSandboxError":      {text("sandbox failed", "沙箱失败"), text("its sandbox cannot be created", "无法创建沙箱")},
	"KillContainerError":         {text("kill failed", "停止失败"), text("it cannot be killed", "无法杀掉它")},
	"PreStartHookError":          {text("preparation failed", "准备失败"), text("it cannot be prepared for the start", "启动前的准备失败")},
}

var (
	failedTo  = regexp.MustCompile(`failed to "(\w+)" for "([^"]*)" with (\w+)(?:: (".*))?`)
	unmounted = regexp.MustCompile(`unmounted volumes=\[([^\]]+)\]`)
	ofPod     = regexp.MustCompile(`^[^_"]+_[^("]+\([^)]+\)$`)
	missing   = regexp.MustCompile(`\b(configmap|secret) \\?"([^"\\]*)\\?" not found`)
	// wrapping is what the kubelet and gRPC put around a reason, which says
	// nothing that the sentence around it does not.
	wrapping = regexp.MustCompile(`rpc error: code = \w+ desc = |Failed to create sandbox for pod "[^"]*": |Back-off pulling image "[^"]*": (?:ErrImagePull: )?|` +
		`failed to pull and unpack image "[^"]*": |failed to resolve reference "[^"]*": | for sandbox "[0-9a-f]{64}"|` +
		` \(pod: "[^"]*", container: [^)]*\)| restarting failed container=.*`)
)

// maxReason bounds the part of an error that goes into a sentence.
const maxReason = 160

// because puts an error of a turn into words.
func (l Lang) because(err string) string {
	if m := failedTo.FindStringSubmatch(err); m != nil {
		what := oneLine(m[3])
		if f, ok := failures[m[3]]; ok {
			what = l.Say(f.full) + l.sayf(text(" (%s)", "（%s）"), what)
		}
		out := what
		if !ofPod.MatchString(m[2]) {
			out = l.sayf(text("%s: %s", "%s：%s"), target(m[2]), what)
		}
		if why := reason(m[4]); why != "" {
			out += l.Say(text(": ", "：")) + why
		}
		return out
	}
	if m := unmounted.FindStringSubmatch(err); m != nil {
		return l.sayf(text("volumes are not mounted: %s", "卷没有挂载：%s"), oneLine(m[1]))
	}
	if strings.Contains(err, "network is not ready") {
		return l.Say(text("the node's pod network is not ready", "节点的 Pod 网络还没就绪"))
	}
	return cut(oneLine(err), maxReason)
}

// briefly is because in a few words.
func (l Lang) briefly(err string) string {
	if m := failedTo.FindStringSubmatch(err); m != nil {
		f, ok := failures[m[3]]
		switch {
		case !ok:
			return oneLine(m[3])
		case strings.Contains(err, "runAsNonRoot"):
			return l.Say(text("may not run as root", "不许以 root 运行"))
		case m[3] == "CreateContainerConfigError" && missing.MatchString(err):
			what := missing.FindStringSubmatch(err)
			return l.sayf(text("no %s %s", "没有 %s %s"), what[1], oneLine(what[2]))
		}
		return l.Say(f.brief)
	}
	if m := unmounted.FindStringSubmatch(err); m != nil {
		return l.sayf(text("not mounted: %s", "未挂载：%s"), oneLine(m[1]))
	}
	if strings.Contains(err, "network is not ready") {
		return l.Say(text("network not ready", "网络未就绪"))
	}
	return cut(oneLine(err), 60)
}

// target is what the kubelet failed to do something for: a container, or a pod,
// which it writes as name_namespace(uid).
func target(s string) string {
	if i := strings.IndexByte(s, '('); i > 0 {
		s = s[:i]
	}
	return oneLine(s)
}

// reason is the message of an error, which the kubelet quotes. Further errors
// may follow it.
func reason(quoted string) string {
	if q, err := strconv.QuotedPrefix(quoted); err == nil {
		if s, err := strconv.Unquote(q); err == nil {
			return cut(strings.TrimRight(oneLine(wrapping.ReplaceAllString(s, "")), ". "), maxReason)
		}
	}
	return ""
}
