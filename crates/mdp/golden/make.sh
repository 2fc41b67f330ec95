#!/usr/bin/env bash
# Makes messages.hex anew: the reference SBE tool turns schema.xml into encoders, which write what values.txt says.
# Needs a JDK (17 or later) and Maven.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
options=(--add-opens java.base/jdk.internal.misc=ALL-UNNAMED)
mvn -B -ntp -q dependency:copy-dependencies
rm -rf target/generated target/classes
java "${options[@]}" -Dsbe.output.dir=target/generated -Dsbe.target.language=Java -Dsbe.validation.stop.on.error=true \
    -cp 'target/lib/*' uk.co.real_logic.sbe.SbeTool schema.xml
javac -Xlint:all,-processing -d target/classes -cp 'target/lib/*' Golden.java target/generated/mdp/*.java
java "${options[@]}" -cp 'target/classes:target/lib/*' Golden values.txt >target/messages.hex
mv target/messages.hex messages.hex
