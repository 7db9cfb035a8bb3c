package probes

import (
	"debug/buildinfo"
	"debug/elf"
	"regexp"
)

func setting(build *buildinfo.BuildInfo, key string) string {
	for _, s := range build.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}

var (
	release     = regexp.MustCompile(`^v1\.\d+\.\d+`)
	stamp       = regexp.MustCompile(`version\.gitVersion=(v1\.\d+\.\d+[^\s"']*)`)
	betweenNULs = regexp.MustCompile(`\x00(v1\.\d+` + patch + `)\x00`)
	beforeNUL   = regexp.MustCompile(`(v1\.[2-9]\d` + patch + `)\x00`)
)

// patch is the form of what is behind the minor in a version.
const patch = `\.\d+(?:-(?:alpha|beta|rc)\.\d+[.\w-]*)?(?:\+[\w.-]+)?`

// kubernetesVersion returns the version from the surest source that has it: the stamp that kubelet --version
// prints, the module, or what the linker left of the stamp in a build whose flags were not recorded (-trimpath, as
// releases are built).
func kubernetesVersion(build *buildinfo.BuildInfo, file *elf.File) string {
	if m := stamp.FindStringSubmatch(setting(build, "-ldflags")); m != nil {
		return m[1]
	}
	for _, dep := range build.Deps {
		if dep.Path != "k8s.io/kubernetes" {
			continue
		}
		if dep.Replace != nil && release.MatchString(dep.Replace.Version) {
			return dep.Replace.Version
		}
		if release.MatchString(dep.Version) {
			return dep.Version
		}
	}
	if v := stampedVersion(file); v != "" {
		return v
	}
	if build.Main.Path == "k8s.io/kubernetes" && release.MatchString(build.Main.Version) {
		return build.Main.Version
	}
	return ""
}

// stampedVersion looks for the string that -X version.gitVersion= leaves. The linker ends such a string with a NUL,
// which Go's own strings lack. What is before the string may end with a NUL, or not: it did in kubelets for amd64, and
// did not in one for arm64. Without the NUL a string of Go's own may look the same, such as v1.0.0, so only versions that
// Kubernetes may have count then.
func stampedVersion(file *elf.File) string {
	section := file.Section(".rodata")
	if section == nil {
		return ""
	}
	data, err := section.Data()
	if err != nil {
		return ""
	}
	if v := onlyVersion(data, betweenNULs); v != "" {
		return v
	}
	return onlyVersion(data, beforeNUL)
}

// onlyVersion returns the version that has a form in the data, if there is one and no other.
func onlyVersion(data []byte, form *regexp.Regexp) (found string) {
	for _, m := range form.FindAllSubmatch(data, -1) {
		v := string(m[1])
		if found != "" && found != v {
			return ""
		}
		found = v
	}
	return found
}
