#!/bin/bash
CONFIG=/tmp/assay-test-config.yaml
cat > /dev/null <<EOF
python -m sglang.launch_server --not-a-command
model-path: $CONFIG
EOF
cat <<-'END' > /dev/null
	"unbalanced quotes ' here
	END
python -m sglang.launch_server --config "$CONFIG" --tool-call-parser $'qwen\x32\x35'
