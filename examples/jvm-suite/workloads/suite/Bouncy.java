package suite;

import java.io.File;
import java.math.BigInteger;
import org.bouncycastle.asn1.x9.X9ECParameters;
import org.bouncycastle.crypto.digests.Blake2bDigest;
import org.bouncycastle.crypto.digests.SHA3Digest;
import org.bouncycastle.crypto.digests.SHA256Digest;
import org.bouncycastle.crypto.ec.CustomNamedCurves;
import org.bouncycastle.crypto.engines.AESEngine;
import org.bouncycastle.crypto.engines.ChaCha7539Engine;
import org.bouncycastle.crypto.modes.GCMBlockCipher;
import org.bouncycastle.crypto.params.AEADParameters;
import org.bouncycastle.crypto.params.ECDomainParameters;
import org.bouncycastle.crypto.params.ECPrivateKeyParameters;
import org.bouncycastle.crypto.params.ECPublicKeyParameters;
import org.bouncycastle.crypto.params.KeyParameter;
import org.bouncycastle.crypto.params.ParametersWithIV;
import org.bouncycastle.crypto.signers.ECDSASigner;
import org.bouncycastle.crypto.signers.HMacDSAKCalculator;
import org.bouncycastle.math.ec.ECPoint;
import org.bouncycastle.util.encoders.Hex;
import org.dacapo.parser.Config;

/** Bouncy Castle encrypts, hashes, signs and verifies, all in Java. */
public class Bouncy extends Workload {

    private byte[] message;

    public Bouncy(Config config, File scratch) throws Exception {
        super(config, scratch);
    }

    @Override
    protected void prepare(String size) {
        Keyed keyed = new Keyed("bouncy");
        message = new byte[argument(size, 0) * 1024];
        for (int place = 0; place < message.length; place++) {
            message[place] = (byte) keyed.below(256);
        }
    }

    @Override
    protected void iterate(String size) throws Exception {
        byte[] key = hashed(new byte[] {1, 2, 3});
        System.out.println("sha256 " + Hex.toHexString(hashed(message)));
        System.out.println("sha3 " + sha3(message) + ", blake2b " + blake(message));
        System.out.println("aes-gcm " + gcm(key, true) + ", chacha20 " + chacha(key));
        System.out.println("p256 " + signatures(argument(size, 1), key));
    }

    private static byte[] hashed(byte[] octets) {
        SHA256Digest digest = new SHA256Digest();
        digest.update(octets, 0, octets.length);
        byte[] result = new byte[32];
        digest.doFinal(result, 0);
        return result;
    }

    private static String sha3(byte[] octets) {
        SHA3Digest digest = new SHA3Digest(256);
        digest.update(octets, 0, octets.length);
        byte[] result = new byte[32];
        digest.doFinal(result, 0);
        return Hex.toHexString(result, 0, 8);
    }

    private static String blake(byte[] octets) {
        Blake2bDigest digest = new Blake2bDigest(256);
        digest.update(octets, 0, octets.length);
        byte[] result = new byte[32];
        digest.doFinal(result, 0);
        return Hex.toHexString(result, 0, 8);
    }

    private String gcm(byte[] key, boolean encrypt) throws Exception {
        GCMBlockCipher cipher = new GCMBlockCipher(new AESEngine());
        cipher.init(encrypt, new AEADParameters(new KeyParameter(key), 128, new byte[12]));
        byte[] result = new byte[cipher.getOutputSize(message.length)];
        int length = cipher.processBytes(message, 0, message.length, result, 0);
        cipher.doFinal(result, length);
        return Hex.toHexString(hashed(result), 0, 8);
    }

    private String chacha(byte[] key) {
        ChaCha7539Engine cipher = new ChaCha7539Engine();
        cipher.init(true, new ParametersWithIV(new KeyParameter(key), new byte[12]));
        byte[] result = new byte[message.length];
        cipher.processBytes(message, 0, message.length, result, 0);
        return Hex.toHexString(hashed(result), 0, 8);
    }

    private static String signatures(int count, byte[] key) {
        X9ECParameters curve = CustomNamedCurves.getByName("P-256");
        ECDomainParameters domain = new ECDomainParameters(curve.getCurve(), curve.getG(), curve.getN(), curve.getH());
        BigInteger secret = new BigInteger(1, key).mod(curve.getN());
        ECPoint open = curve.getG().multiply(secret).normalize();
        ECDSASigner signer = new ECDSASigner(new HMacDSAKCalculator(new SHA256Digest()));
        ECDSASigner verifier = new ECDSASigner();
        verifier.init(false, new ECPublicKeyParameters(open, domain));
        BigInteger sum = BigInteger.ZERO;
        int verified = 0;
        for (int number = 0; number < count; number++) {
            byte[] hash = hashed(new byte[] {(byte) number, (byte) (number >> 8)});
            signer.init(true, new ECPrivateKeyParameters(secret, domain));
            BigInteger[] signature = signer.generateSignature(hash);
            verified += verifier.verifySignature(hash, signature[0], signature[1]) ? 1 : 0;
            sum = sum.add(signature[0]).add(signature[1]);
        }
        return verified + " of " + count + " verified, sum " + sum.toString(16);
    }
}
