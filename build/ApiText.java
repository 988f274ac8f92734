import java.io.IOException;
import java.lang.annotation.Annotation;
import java.lang.module.ModuleDescriptor;
import java.lang.module.ModuleDescriptor.Requires;
import java.lang.module.ModuleFinder;
import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.AnnotatedType;
import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.Field;
import java.lang.reflect.GenericDeclaration;
import java.lang.reflect.Member;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Writes the types that users of an artifact can name, nullness included, to its api.txt, or
 * compares them with it.
 *
 * <p>Where there is a module descriptor, it loads them as a module, which proves that the
 * descriptor resolves and that all types load; else from the class path, all packages.
 */
final class ApiText {
  private ApiText() {}

  /** Arguments: check or update; the text file; the module's classes; its whole class path. */
  public static void main(String[] args) throws Exception {
    Path file = Path.of(args[1]);
    Path classes = Path.of(args[2]);
    boolean isModule = Files.exists(classes.resolve("module-info.class"));
    String now =
        isModule ? describe(load(classes, args[3]), classes) : describeClassPath(classes, args[3]);
    String before = Files.exists(file) ? Files.readString(file) : "";
    if (args[0].equals("update") && !now.isEmpty()) {
      Files.writeString(file, now);
    } else if (!now.equals(before)) {
      Path built = Files.writeString(classes.resolveSibling("api.txt"), now);
      List<String> diff = List.of("git", "diff", "--no-index", "--no-color", "-U0");
      new ProcessBuilder(
              Stream.concat(diff.stream(), Stream.of(args[1], built.toString())).toList())
          .inheritIO()
          .start()
          .waitFor();
      System.err.println("The public API is not what " + file + " says."
          + " If the change is meant, run dev/update-api and commit the text with it.");
      System.exit(1);
    }
  }

  private static Module load(Path classes, String classPath) {
    ModuleFinder finder =
        ModuleFinder.of(Stream.of(classPath.split(System.getProperty("path.separator")))
            .map(Path::of)
            .filter(Files::exists)
            .toArray(Path[]::new));
    ModuleDescriptor descriptor =
        ModuleFinder.of(classes).findAll().iterator().next().descriptor();
    Set<String> roots = new TreeSet<>(Set.of(descriptor.name()));
    resolve(finder, roots); // as a user who has no optional dependency
    descriptor.requires().stream()
        .filter(r -> r.modifiers().contains(Requires.Modifier.STATIC))
        .map(Requires::name)
        .filter(name -> finder.find(name).isPresent())
        .forEach(roots::add);
    return resolve(finder, roots).findModule(descriptor.name()).orElseThrow();
  }

  private static ModuleLayer resolve(ModuleFinder finder, Set<String> roots) {
    ModuleLayer boot = ModuleLayer.boot();
    return boot.defineModulesWithOneLoader(
        boot.configuration().resolve(finder, ModuleFinder.ofSystem(), roots),
        ClassLoader.getSystemClassLoader());
  }

  private static String describe(Module module, Path classes) throws IOException {
    Set<String> exported = new TreeSet<>(module.getPackages());
    exported.removeIf(name -> !module.isExported(name));
    return describe(
        "module " + module.getName(), exported, name -> Class.forName(module, name), classes);
  }

  /** Returns nothing for an artifact without classes. */
  private static String describeClassPath(Path classes, String classPath) throws IOException {
    if (!Files.exists(classes.resolve("io"))) {
      return "";
    }
    List<URL> urls = new ArrayList<>();
    for (String entry : classPath.split(System.getProperty("path.separator"))) {
      urls.add(Path.of(entry).toUri().toURL());
    }
    ClassLoader loader = new URLClassLoader(urls.toArray(URL[]::new));
    Set<String> packages = new TreeSet<>();
    try (Stream<Path> files = Files.walk(classes.resolve("io"))) {
      files
          .filter(file -> file.toString().endsWith(".class"))
          .map(file -> classes.relativize(file.getParent()).toString().replace('/', '.'))
          .forEach(packages::add);
    }
    return describe("class path", packages, name -> load(loader, name), classes);
  }

  private static Class<?> load(ClassLoader loader, String name) {
    try {
      return Class.forName(name, false, loader);
    } catch (ClassNotFoundException e) {
      return null;
    }
  }

  private static String describe(
      String title, Set<String> packages, Function<String, Class<?>> load, Path classes)
      throws IOException {
    List<String> lines = new ArrayList<>(List.of(title));
    for (String exported : packages) {
      Class<?> info = load.apply(exported + ".package-info");
      List<String> text = new ArrayList<>(
          List.of("", (info == null ? "" : annotations(info)) + "package " + exported));
      try (Stream<Path> files = Files.list(classes.resolve(exported.replace('.', '/')))) {
        files
            .map(file -> exported + "." + file.getFileName())
            .filter(file -> file.endsWith(".class"))
            .map(file -> load.apply(file.substring(0, file.lastIndexOf('.'))))
            .filter(ApiText::isVisible)
            .sorted(Comparator.comparing(Class::getCanonicalName))
            .forEach(type -> {
              text.addAll(List.of("", header(type)));
              members(type).forEach(member -> text.add("  " + member));
            });
      }
      text.forEach(line -> lines.add(brief(exported, line)));
    }
    return String.join("\n", lines) + "\n";
  }

  private static boolean isVisible(Class<?> type) {
    Class<?> outer = type.getDeclaringClass();
    return isVisible(type.getModifiers()) && (outer == null || isVisible(outer));
  }

  private static boolean isVisible(Member member) {
    return isVisible(member.getModifiers()) && !member.isSynthetic();
  }

  private static boolean isVisible(int modifiers) {
    return Modifier.isPublic(modifiers) || Modifier.isProtected(modifiers);
  }

  private static String header(Class<?> type) {
    String text = annotations(type)
        + type.toGenericString()
            .replaceFirst("<.*", "")
            .replaceFirst("(non-)?sealed ", "") // not every JDK writes it
            .replaceFirst("(abstract |static |final )+(@?interface|enum|record) ", "$2 ")
            .replaceFirst("(@?interface|class) ", type.isSealed() ? "sealed $1 " : "$1 ")
        + typeParameters(type, ">");
    if (type.isRecord()) {
      Stream<String> components = Stream.of(type.getRecordComponents())
          .map(component -> component.getAnnotatedType() + " " + component.getName());
      text += "(" + list("", components, "") + ")";
    } else if (!type.isEnum() && hiddenParent(type) == null) {
      Stream<AnnotatedType> parent = Stream.ofNullable(type.getAnnotatedSuperclass());
      text += list(" extends ", parent.filter(one -> one.getType() != Object.class), "");
    }
    if (!type.isAnnotation()) {
      Stream<AnnotatedType> parents = Stream.of(type.getAnnotatedInterfaces());
      text += list(type.isInterface() ? " extends " : " implements ", parents, "");
    }
    if (type.isSealed()) {
      Stream<String> permitted = Stream.of(type.getPermittedSubclasses())
          .map(one -> isVisible(one) ? one.getName() : "(not public)");
      text += list(" permits ", permitted.distinct().sorted(), "");
    }
    return text;
  }

  /** Returns a superclass that users cannot name: they see its members as those of the subclass. */
  private static Class<?> hiddenParent(Class<?> type) {
    Class<?> parent = type.getSuperclass();
    return parent != null && isOfSameArtifact(parent, type) && !isVisible(parent) ? parent : null;
  }

  private static boolean isOfSameArtifact(Class<?> one, Class<?> other) {
    return one.getModule() == other.getModule()
        && one.getProtectionDomain().equals(other.getProtectionDomain());
  }

  private static Stream<String> members(Class<?> type) {
    List<Class<?>> declaring = Stream.<Class<?>>iterate(
            type, one -> one != null, ApiText::hiddenParent)
        .toList();
    Stream<String> fields = declaring.stream()
        .flatMap(one -> Stream.of(one.getDeclaredFields()))
        .filter(ApiText::isVisible)
        .map(ApiText::field);
    Stream<String> constructors = Stream.of(type.getDeclaredConstructors())
        .filter(one -> isVisible(one) && !type.isRecord())
        .map(ApiText::constructor)
        .sorted();
    Stream<String> methods = declaring.stream()
        .flatMap(one -> Stream.of(one.getDeclaredMethods()))
        .filter(one -> isVisible(one) && !isImplied(one))
        .sorted(Comparator.comparing(Method::getName).thenComparing(ApiText::method))
        .map(ApiText::method);
    return Stream.of(fields, constructors, methods).flatMap(lines -> lines).distinct();
  }

  private static boolean isImplied(Method method) {
    Class<?> type = method.getDeclaringClass();
    if (type.isEnum()) {
      return Modifier.isStatic(method.getModifiers())
          && Set.of("values", "valueOf").contains(method.getName());
    }
    return type.isRecord()
        && (Set.of("equals", "hashCode", "toString").contains(method.getName())
            || Stream.of(type.getRecordComponents())
                .anyMatch(c -> c.getAccessor().equals(method)));
  }

  private static String field(Field field) {
    return field.isEnumConstant()
        ? annotations(field) + field.getName()
        : modifiers(field) + field.getAnnotatedType() + " " + field.getName() + constant(field);
  }

  /** Returns the value of a constant, which is compiled into its users. */
  private static String constant(Field field) {
    boolean simple = field.getType().isPrimitive() || field.getType() == String.class;
    int constant = Modifier.PUBLIC | Modifier.STATIC | Modifier.FINAL;
    try {
      return simple && (field.getModifiers() & constant) == constant ? " = " + field.get(null) : "";
    } catch (IllegalAccessException e) {
      throw new IllegalStateException(e);
    }
  }

  private static String constructor(Constructor<?> constructor) {
    return modifiers(constructor)
        + typeParameters(constructor, "> ")
        + constructor.getDeclaringClass().getSimpleName()
        + parameters(constructor);
  }

  private static String method(Method method) {
    Object value = method.getDefaultValue();
    return modifiers(method)
        + (method.isDefault() ? "default " : "")
        + typeParameters(method, "> ")
        + method.getAnnotatedReturnType()
        + " "
        + method.getName()
        + parameters(method)
        + (value == null ? "" : " default " + value);
  }

  private static <T extends Member & AnnotatedElement> String modifiers(T member) {
    int shown = Modifier.PROTECTED | Modifier.STATIC | Modifier.FINAL;
    if (!member.getDeclaringClass().isInterface()) {
      shown |= Modifier.PUBLIC | Modifier.ABSTRACT;
    }
    String text = Modifier.toString(member.getModifiers() & shown);
    return annotations(member) + (text.isEmpty() ? "" : text + " ");
  }

  private static String parameters(Executable executable) {
    String text = list("", Stream.of(executable.getAnnotatedParameterTypes()), "");
    return "("
        + (executable.isVarArgs() ? text.replaceFirst(" ?\\[]$", "...") : text)
        + ")"
        + list(" throws ", Stream.of(executable.getAnnotatedExceptionTypes()), "");
  }

  private static String typeParameters(GenericDeclaration declaration, String end) {
    Stream<String> all = Stream.of(declaration.getTypeParameters())
        .map(one -> annotations(one)
            + one.getName()
            + Stream.of(one.getAnnotatedBounds())
                .map(Object::toString)
                .collect(Collectors.joining(" & ", " extends ", ""))
                .replaceFirst("^ extends java.lang.Object$", ""));
    return list("<", all, end);
  }

  private static String annotations(AnnotatedElement element) {
    Stream<String> all = Stream.of(element.getDeclaredAnnotations()).map(ApiText::annotation);
    return all.sorted().collect(Collectors.joining());
  }

  /** Returns an annotation with its values; those that tell Boot when to use a class have none. */
  private static String annotation(Annotation annotation) {
    String name = annotation.annotationType().getName();
    boolean isCondition =
        name.startsWith("org.springframework.boot.") || name.startsWith("io.holdfast.");
    return (isCondition ? "@" + name : annotation) + " ";
  }

  /** Returns the parts between two texts; empty if there are no parts. */
  private static String list(String before, Stream<?> parts, String after) {
    String text = parts.map(Object::toString).collect(Collectors.joining(", "));
    return text.isEmpty() ? "" : before + text + after;
  }

  /** Leaves out the packages that every reader adds, and that of the type. */
  private static String brief(String packageName, String text) {
    String known = "java\\.(lang|time|util)|org\\.jspecify\\.annotations|";
    return text.stripTrailing()
        .replaceAll("(@[\\w.$]+)\\(\\)", "$1")
        .replaceAll("(?<=\\w)\\$(?=\\w)", ".")
        .replaceAll("(?<![\\w.])(" + known + Pattern.quote(packageName) + ")\\.(?=[A-Z])", "");
  }
}
