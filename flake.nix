{
  description = "Agent Memory: a REST and MCP service on PostgreSQL";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs =
    { nixpkgs, ... }:
    let
      systems = [
        "x86_64-linux"
        "aarch64-linux"
        "x86_64-darwin"
        "aarch64-darwin"
      ];
      forAllSystems = f: nixpkgs.lib.genAttrs systems (system: f nixpkgs.legacyPackages.${system});

      tools = pkgs: [
        pkgs.nodejs_26
        # The embedded database takes these programs where the ones from npm cannot run, as on NixOS.
        pkgs.postgresql_18
      ];

      # npm's generic Linux build of Node does not run on NixOS and would hide the one from nixpkgs.
      dropForeignNode = ''
        if [ -e node_modules/.bin/node ] && ! node_modules/.bin/node --version >/dev/null 2>&1; then
          rm node_modules/.bin/node
        fi
      '';
    in
    {
      devShells = forAllSystems (pkgs: {
        default = pkgs.mkShell {
          packages = tools pkgs;
          shellHook = dropForeignNode;
        };
      });

      apps = forAllSystems (pkgs: {
        default = {
          type = "app";
          program = pkgs.lib.getExe (
            pkgs.writeShellApplication {
              name = "agent-memory";
              runtimeInputs = tools pkgs;
              text = ''
                if [ ! -f package-lock.json ]; then
                  echo "Run this in a checkout of Agent Memory." >&2
                  exit 1
                fi
                if [ ! -d node_modules ]; then
                  npm ci --ignore-scripts
                fi
                ${dropForeignNode}
                npm run build
                exec npm start
              '';
            }
          );
          meta.description = "Installs, builds and starts the service in the current checkout";
        };
      });
    };
}
