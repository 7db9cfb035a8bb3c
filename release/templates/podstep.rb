class Podstep < Formula
  desc "Shows how pods move through the kubelet, and why one is stuck"
  homepage "{{.Homepage}}"
  version "{{.Version}}"
  license "Apache-2.0"

  on_macos do
{{- range .Archives}}{{if eq .OS "darwin"}}{{template "archive" .}}{{end}}{{end}}
  end

  on_linux do
{{- range .Archives}}{{if eq .OS "linux"}}{{template "archive" .}}{{end}}{{end}}
  end

  def install
    bin.install "podstep"
    bin.install_symlink "podstep" => "kubectl-podstep"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/podstep"
    zsh_completion.install "completions/_podstep"
    fish_completion.install "completions/podstep.fish"
  end

  test do
    assert_match "v{{.Version}}", shell_output("#{bin}/podstep version")
  end
end
{{- define "archive"}}
    on_{{if eq .Arch "arm64"}}arm{{else}}intel{{end}} do
      url "{{.URL}}"
      sha256 "{{.SHA256}}"
    end
{{- end}}
