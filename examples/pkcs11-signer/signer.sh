#!/usr/bin/env bash
# Signs records with an ECDSA P-256 key in a PKCS#11 token, for p20export's --signer:
#     signer.sh MODULE TOKEN ID PIN-FILE
# MODULE is the token's PKCS#11 library, TOKEN its label, and ID the id of the key, in hex.
# PIN-FILE is a file or a descriptor such as /dev/fd/3; its first line is the PIN.
# It needs pkcs11-tool (OpenSC), openssl and base64.
set -euo pipefail

if [ $# != 4 ]; then
	echo "usage: signer.sh MODULE TOKEN ID PIN-FILE" >&2
	exit 2
fi
module=$1 token=$2 id=$3
pin=
IFS= read -r pin <"$4" || [ -n "$pin" ] || {
	echo "signer.sh: $4 has no PIN" >&2
	exit 1
}

# pkcs11 runs pkcs11-tool with the PIN in its environment, because everybody can read the
# arguments of a process. It omits a line that pkcs11-tool prints for each signature.
pkcs11() {
	{
		PIN=$pin pkcs11-tool --module "$module" --token-label "$token" --login --pin env:PIN \
			--id "$id" "$@" 2>&1 >&3 3>&- | sed '/^Using signature algorithm/d' >&2
	} 3>&1
}

line() {
	base64 | tr -d '\n'
}

# fail also ends the program: a token counts wrong PINs, and locks itself after a few.
fail() {
	echo "error $1"
	exit 1
}

while IFS=' ' read -r request message; do
	case $request in
	key)
		key=$(pkcs11 --read-object --type pubkey | openssl pkey -pubin -pubout -outform DER | line) ||
			fail "the public key $id of the token $token cannot be read"
		echo "key $key"
		;;
	sign)
		digest=$(base64 -d <<<"$message" | openssl dgst -sha256 -binary | line) ||
			fail "the message is not base64"
		signature=$(base64 -d <<<"$digest" | pkcs11 --sign --mechanism ECDSA --signature-format openssl | line) ||
			fail "the key $id of the token $token does not sign"
		echo "signature $signature"
		;;
	*) fail "the request ${request:0:20} is unknown" ;;
	esac
done
