# podstep {{.Version}}, as it was released. nix-build -E '(import <nixpkgs> {}).callPackage ./podstep.nix {}'
{ lib, stdenvNoCC, fetchurl, installShellFiles }:

let
  releases = {
{{- range .Archives}}{{if ne .OS "windows"}}
    {{if eq .Arch "arm64"}}aarch64{{else}}x86_64{{end}}-{{.OS}} = {
      url = "{{.URL}}";
      sha256 = "{{.SHA256}}";
    };
{{- end}}{{end}}
  };
  system = stdenvNoCC.hostPlatform.system;
in
stdenvNoCC.mkDerivation {
  pname = "podstep";
  version = "{{.Version}}";
  src = fetchurl (releases.${system} or (throw "podstep has no release for ${system}"));

  nativeBuildInputs = [ installShellFiles ];
  installPhase = ''
    runHook preInstall
    install -D -m 755 podstep $out/bin/podstep
    ln -s podstep $out/bin/kubectl-podstep
    installManPage man/*.1
    installShellCompletion --bash completions/podstep
    installShellCompletion --zsh completions/_podstep
    installShellCompletion --fish completions/podstep.fish
    runHook postInstall
  '';

  meta = {
    description = "Shows how pods move through the kubelet, and why one is stuck";
    homepage = "{{.Homepage}}";
    license = lib.licenses.asl20;
    mainProgram = "podstep";
    platforms = builtins.attrNames releases;
    sourceProvenance = [ lib.sourceTypes.binaryNativeCode ];
  };
}
