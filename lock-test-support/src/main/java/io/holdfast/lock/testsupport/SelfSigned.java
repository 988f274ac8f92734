package io.holdfast.lock.testsupport;

import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.Key;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.util.Base64;

/**
 * A certificate of this machine that nobody signed but itself, and its key.
 *
 * @param certificate the certificate
 * @param key its private key
 */
public record SelfSigned(Certificate certificate, Key key) {
  private static final String ALIAS = "server";
  private static final String PASSWORD = "of the test";

  /** Makes one of 127.0.0.1 and localhost. */
  public static SelfSigned make(Path folder) throws Exception {
    return make(folder, "ip:127.0.0.1,dns:localhost");
  }

  /**
   * Makes one with the JDK's own tool, since no library here makes certificates.
   *
   * @param names its subject alternative names, as {@code keytool} takes them
   */
  public static SelfSigned make(Path folder, String names) throws Exception {
    Path file = folder.resolve("keys.p12");
    Process keytool = new ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
            "-genkeypair",
            "-alias",
            ALIAS,
            "-keyalg",
            "EC",
            "-dname",
            "CN=127.0.0.1",
            "-ext",
            "SAN=" + names,
            "-validity",
            "2",
            "-storetype",
            "PKCS12",
            "-storepass",
            PASSWORD,
            "-keystore",
            file.toString())
        .redirectErrorStream(true)
        .start();
    String said = new String(keytool.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    if (keytool.waitFor() != 0) {
      throw new AssertionError("keytool: " + said);
    }
    KeyStore store = KeyStore.getInstance("PKCS12");
    try (InputStream in = Files.newInputStream(file)) {
      store.load(in, PASSWORD.toCharArray());
    }
    return new SelfSigned(store.getCertificate(ALIAS), store.getKey(ALIAS, PASSWORD.toCharArray()));
  }

  /** Returns a store of the one certificate that this client trusts. */
  public KeyStore trusted() throws Exception {
    KeyStore trusted = KeyStore.getInstance("PKCS12");
    trusted.load(null, null);
    trusted.setCertificateEntry(ALIAS, certificate);
    return trusted;
  }

  public String certificatePem() throws Exception {
    return pem("CERTIFICATE", certificate.getEncoded());
  }

  public String keyPem() {
    return pem("PRIVATE KEY", key.getEncoded());
  }

  private static String pem(String what, byte[] content) {
    String lines = Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(content);
    return "-----BEGIN " + what + "-----\n" + lines + "\n-----END " + what + "-----\n";
  }
}
